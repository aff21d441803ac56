//! gRPC on the wire.

mod calls;
mod client;
mod limits;
mod refusals;
mod services;
mod streams;
mod v0_3;

use client::Client;
use nuncio_engine::{AgentError, Engine, EngineBuilder, Turn, agent_fn};
use nuncio_model::{AgentCard, Part, TaskState, card::AgentExtension};
use nuncio_server::{Builder, Server};
use tokio::{sync::oneshot, task::JoinHandle};

/// A server with an agent that executes the text of the message.
struct Running {
    client: Client,
    address: std::net::SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    end: JoinHandle<()>,
}

impl Running {
    async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    async fn with(options: impl FnOnce(Builder) -> Builder) -> Self {
        Self::of(engine(), options).await
    }

    async fn of(engine: EngineBuilder, options: impl FnOnce(Builder) -> Builder) -> Self {
        let server = options(Server::builder(engine.build())).bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let end = tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self { client: Client::connect(address).await, address, stop: Some(stop), end }
    }

    fn stop(&mut self) {
        drop(self.stop.take());
    }
}

fn engine() -> EngineBuilder {
    let mut card = AgentCard::new("test", "Does what it is told.");
    card.capabilities.streaming = Some(true);
    for uri in ["https://example.com/a", "https://example.com/b"] {
        card.capabilities.extensions.push(AgentExtension { uri: uri.to_owned(), ..AgentExtension::default() });
    }
    Engine::builder(agent_fn(act)).card(card)
}

async fn act(turn: Turn) -> Result<(), AgentError> {
    let text = turn.message().text();
    match text.split_once(' ').unwrap_or((&text, "")) {
        ("chunks", count) => {
            let mut artifact = turn.artifact("chunks");
            for chunk in 0..count.parse().unwrap() {
                artifact.chunk(format!("{chunk};")).await?;
            }
            artifact.finish("end").await
        }
        ("silent", _) => {
            turn.working("hm").await?;
            turn.cancelled().cancelled().await;
            Ok(())
        }
        ("ask", _) => turn.ask("what?").await,
        ("large", size) => turn.complete("x".repeat(size.parse().unwrap()).as_str()).await,
        ("data", _) => {
            turn.artifact("data").finish(turn.message().parts.last().cloned().unwrap_or_else(|| Part::text(""))).await
        }
        (_, _) => {
            turn.artifact("echo").finish(&*text).await?;
            turn.status(TaskState::Completed, None).await
        }
    }
}
