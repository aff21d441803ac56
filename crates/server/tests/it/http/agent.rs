//! An agent that executes the text of the message, and a server for the agent.

use std::{net::SocketAddr, sync::Arc};

use nuncio_engine::{AgentError, Engine, EngineBuilder, Turn, agent_fn};
use nuncio_model::{AgentCard, TaskPushNotificationConfig, TaskState, card::AgentExtension};
use nuncio_server::{Builder, Server};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

use super::client::{Feed, Outgoing};

pub(super) const EXTENSION: &str = "https://example.com/extensions/one/v1";
pub(super) const OTHER: &str = "https://example.com/extensions/two/v1";

/// A running server. The server ends when this value is dropped.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    pub(super) end: JoinHandle<()>,
}

impl Running {
    pub(super) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    pub(super) async fn with(options: impl FnOnce(Builder) -> Builder) -> Self {
        Self::of(engine().build(), options).await
    }

    pub(super) async fn of(engine: Engine, options: impl FnOnce(Builder) -> Builder) -> Self {
        Self::serving(options(Server::builder(engine)).bind("127.0.0.1:0").await.unwrap())
    }

    pub(super) fn serving(server: Server) -> Self {
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let end = tokio::spawn(server.serve(async {
            drop(stopped.await);
        }));
        Self { address, stop: Some(stop), end }
    }

    pub(super) fn stop(&mut self) {
        drop(self.stop.take());
    }

    pub(super) fn send(&self, method: &str, path: &str) -> Outgoing {
        Outgoing::new(self.address, method, path)
    }

    /// A JSON-RPC request of version 1.0 that is not sent yet.
    pub(super) fn rpc(&self, method: &str, params: &Value) -> Outgoing {
        self.send("POST", "/").json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    /// The result of a JSON-RPC call.
    pub(super) async fn call(&self, method: &str, params: &Value) -> Value {
        let answer = self.rpc(method, params).fetch().await;
        let mut document = answer.json();
        assert!(document.get("error").is_none(), "{document}");
        document["result"].take()
    }

    /// The error of a JSON-RPC call.
    pub(super) async fn error(&self, method: &str, params: &Value) -> Value {
        let answer = self.rpc(method, params).fetch().await;
        assert_eq!((answer.status, answer.media_type()), (200, "application/json"));
        let mut document = answer.json();
        assert!(document.get("result").is_none(), "{document}");
        document["error"].take()
    }

    /// The task of a message.
    pub(super) async fn task(&self, text: &str) -> Value {
        self.call("SendMessage", &message(text)).await["task"].take()
    }

    pub(super) async fn stream(&self, text: &str) -> Feed {
        self.rpc("SendStreamingMessage", &message(text)).open().await
    }
}

/// Parameters that send this text.
pub(super) fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// Parameters that send this text to a task.
pub(super) fn reply(task: &Value, text: &str) -> Value {
    let mut params = message(text);
    params["message"]["taskId"] = task["id"].clone();
    params
}

pub(super) fn card() -> AgentCard {
    let mut card = AgentCard::new("test", "Does what it is told.");
    card.capabilities.streaming = Some(true);
    card.capabilities.push_notifications = Some(true);
    card.capabilities.extended_agent_card = Some(true);
    for uri in [EXTENSION, OTHER] {
        card.capabilities.extensions.push(AgentExtension { uri: uri.to_owned(), ..AgentExtension::default() });
    }
    card
}

struct AnyUrl;

#[async_trait::async_trait]
impl nuncio_engine::PushGuard for AnyUrl {
    async fn check(&self, _config: &TaskPushNotificationConfig) -> Result<(), nuncio_model::Error> {
        Ok(())
    }
}

pub(super) fn engine() -> EngineBuilder {
    let extended = AgentCard { description: "Does more for those it knows.".to_owned(), ..card() };
    Engine::builder(agent_fn(act)).card(card()).extended_card(extended).push_guard(Arc::new(AnyUrl))
}

async fn act(turn: Turn) -> Result<(), AgentError> {
    let text = turn.message().text();
    match text.split_once(' ').unwrap_or((&text, "")) {
        ("stream", count) => {
            let mut artifact = turn.artifact("stream");
            for chunk in 0..count.parse().unwrap() {
                artifact.chunk(format!("{chunk};")).await?;
            }
            artifact.finish("end").await
        }
        ("two", _) => {
            let (mut one, mut other) = (turn.artifact("one"), turn.artifact("other"));
            one.chunk("a").await?;
            other.chunk("b").await?;
            one.chunk("c").await?;
            other.chunk("d").await
        }
        ("silent", _) => {
            turn.working("hm").await?;
            turn.cancelled().cancelled().await;
            Ok(())
        }
        ("slow", milliseconds) => {
            turn.working("hm").await?;
            tokio::time::sleep(std::time::Duration::from_millis(milliseconds.parse().unwrap())).await;
            turn.complete("at last").await
        }
        ("ask", _) => turn.ask("what?").await,
        ("direct", rest) => turn.reply(rest).await,
        ("panic", _) => panic!("as asked"),
        ("hold", text) => {
            turn.artifact("held").finish(text.repeat(1 << 20)).await?;
            turn.cancelled().cancelled().await;
            Ok(())
        }
        ("repeat", count) => turn.complete("x".repeat(count.parse().unwrap()).as_str()).await,
        _ => {
            turn.artifact("echo").finish(&*text).await?;
            turn.status(TaskState::Completed, None).await
        }
    }
}
