//! An agent that calls another agent over the network: `cargo run --example two_agents`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use futures_util::StreamExt as _;
use nuncio::{Agent, AgentError, Client, Engine, Server, StreamResponse, Turn, engine::agent_fn};

/// Plans, and delegates loud words to another agent.
struct Planner {
    shouter: Client,
}

impl Agent for Planner {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        turn.working("asking the other agent").await?;
        let mut events = self.shouter.send_stream(turn.message().text()).await?;
        let mut plan = turn.artifact("plan");
        // Forward the chunks of the other agent.
        while let Some(event) = events.next().await {
            if let StreamResponse::ArtifactUpdate(update) = &event?.response {
                plan.chunk(update.artifact.text()).await?;
            }
        }
        turn.complete("that is the plan").await
    }
}

async fn serve(agent: impl Agent) -> Result<Client, Box<dyn std::error::Error>> {
    let server = Server::builder(Engine::builder(agent).build()).bind("127.0.0.1:0").await?;
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    Ok(Client::connect(address).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shouter = serve(agent_fn(|turn: Turn| async move {
        let mut artifact = turn.artifact("shout");
        for word in turn.message().text().split_whitespace() {
            artifact.chunk(format!("{} ", word.to_uppercase())).await?;
        }
        Ok(())
    }))
    .await?;
    let planner = serve(Planner { shouter }).await?;

    let mut events = planner.send_stream("first tea then work").await?;
    while let Some(event) = events.next().await {
        println!("{:?}", event?);
    }
    Ok(())
}
