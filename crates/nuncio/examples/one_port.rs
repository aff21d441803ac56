//! Two local agents and a remote agent on one port: `cargo run --example one_port`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use nuncio::{AgentCard, Binding, Client, Engine, Mount, RemoteAgent, Server, Turn, engine::agent_fn};

/// An agent that answers with its name and the text.
fn engine(name: &'static str) -> Engine {
    let agent =
        agent_fn(move |turn: Turn| async move { turn.reply(format!("{name}: {}", turn.message().text())).await });
    Engine::builder(agent).card(AgentCard::new(name, "An agent among others.")).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The remote agent is on another port here, and on another machine elsewhere.
    let remote = Server::builder(engine("weather")).bind("127.0.0.1:0").await?;
    let remote_address = remote.local_addr().to_string();
    tokio::spawn(remote.serve(std::future::pending()));

    let server = Server::hosting([
        Mount::at("/billing", engine("billing")),
        // A tenant of its own, so that gRPC finds the agent: the paths of gRPC are fixed.
        Mount::tenant("support", engine("support")),
        Mount::at("/weather", RemoteAgent::new(Client::connect(remote_address).await?)),
    ])
    .bindings(Binding::ALL)
    .bind("127.0.0.1:0")
    .await?;
    let address = server.local_addr();
    tokio::spawn(server.serve(std::future::pending()));

    for (path, binding) in [("billing", Binding::JsonRpc), ("support", Binding::Grpc), ("weather", Binding::HttpJson)] {
        let client = Client::builder().prefer([binding]).connect(format!("{address}/{path}")).await?;
        println!("{}", client.send("hello").await?.text());
    }
    Ok(())
}
