//! The smallest agent, on a port: `cargo run -p nuncio-server --example echo -- 127.0.0.1:8080`.
#![expect(clippy::print_stdout, reason = "a person wants to know where it listens")]

use nuncio_engine::{Agent, AgentError, Engine, Turn};
use nuncio_server::{BindError, Server};

struct Echo;

impl Agent for Echo {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        turn.begin().await?;
        turn.artifact("echo").finish(turn.message().text()).await?;
        turn.complete("done").await
    }
}

#[tokio::main]
async fn main() -> Result<(), BindError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let server = Server::builder(Engine::builder(Echo).build()).bind(&*address).await?;
    println!("listening on http://{}/", server.local_addr());
    let stop = async {
        // Without a signal handler the server runs until the process is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    server.serve(stop).await;
    Ok(())
}
