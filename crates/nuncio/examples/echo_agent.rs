//! The smallest agent: `cargo run --example echo_agent`, then `nuncio send -a 127.0.0.1:8080 hello`.

#![expect(clippy::print_stdout, reason = "an example says how to call it")]

use nuncio::{Agent, AgentError, Engine, Server, Turn};

struct Echo;

impl Agent for Echo {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        let text = turn.message().text();
        turn.artifact("echo").finish(text).await?;
        turn.complete("done").await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder(Engine::builder(Echo).build()).bind("127.0.0.1:8080").await?;
    println!("serving; call: nuncio send -a 127.0.0.1:8080 hello");
    server.serve(async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await;
    Ok(())
}
