//! An engine behind the dialect of 0.1, with bytes on both sides: a server of 0.1 without a socket.

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use nuncio_engine::{AgentError, Engine, MemoryStore, PushGuard, Turn, agent_fn, store::TaskStore};
use nuncio_model::{
    AgentCard, Call, Caller, Calling, Error, EventStream, Message, Method, Principal, Reply, Request, Scope, Task,
    TaskPushNotificationConfig, Tenant,
};
use nuncio_wire::{JsonRpcDialect, Version, dialect, dialect::Plan};
use serde_json::{Value, json};

use super::schema::assert_is;

/// The agent of the tests: the message is the command.
pub(crate) async fn obey(turn: Turn) -> Result<(), AgentError> {
    match &*turn.message().text() {
        "ask" => turn.ask("which bed?").await,
        "reply" => turn.reply("only this").await,
        "reject" => turn.reject("no").await,
        "log in" => turn.require_auth("who are you?").await,
        "chunks" => {
            let mut report = turn.artifact("report");
            report.chunk("one ").await?;
            report.finish("two").await?;
            turn.artifact("appendix").finish("three").await?;
            turn.complete("done").await
        }
        "wait" => {
            turn.working("waiting").await?;
            turn.cancelled().cancelled().await;
            Ok(())
        }
        other => turn.complete(format!("did {other}")).await,
    }
}

pub(crate) fn engine_with(store: Arc<dyn TaskStore>) -> Engine {
    builder(obey).store(store).build()
}

pub(crate) fn engine() -> Engine {
    engine_with(Arc::new(MemoryStore::default()))
}

pub(crate) fn builder<F, R>(run: F) -> nuncio_engine::EngineBuilder
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    let mut card = AgentCard::new("garden", "Reports on plants.");
    card.capabilities.streaming = Some(true);
    card.capabilities.push_notifications = Some(true);
    Engine::builder(agent_fn(run)).card(card).push_guard(Arc::new(Anywhere))
}

struct Anywhere;

#[async_trait]
impl PushGuard for Anywhere {
    async fn check(&self, _config: &TaskPushNotificationConfig) -> Result<(), Error> {
        Ok(())
    }
}

pub(crate) fn scope(name: &str) -> Scope {
    Scope::new(Tenant::default(), Principal::named(name))
}

pub(crate) fn v01() -> &'static dyn JsonRpcDialect {
    dialect(Version::V0_1).jsonrpc()
}

/// A limit for each wait, so that a blocked test fails.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("the wait exceeded 20 seconds")
}

/// A caller of 0.1. Received documents are validated against the tables of the specification.
pub(crate) struct OldestClient<'a>(pub(crate) &'a dyn Caller, pub(crate) &'a str);

impl OldestClient<'_> {
    pub(crate) async fn reply(&self, method: &str, params: &Value) -> Result<Reply, Error> {
        let raw = serde_json::value::to_raw_value(params).unwrap();
        let method = v01().method(method).unwrap();
        let call = v01().decode_call(method, Some(&raw))?;
        let mut request = Request::new(scope(self.1), call);
        request.push_format = Some("0.1");
        within(served(request, self.0)).await
    }

    /// The result, or the error.
    pub(crate) async fn call(&self, name: &str, params: Value) -> Result<Value, Value> {
        let method = v01().method(name).unwrap();
        match self.reply(name, &params).await {
            Ok(reply) => {
                let mut to = Vec::new();
                v01().encode_reply(method, &reply, &mut to).unwrap();
                let result = crate::spec::json(&to);
                let kind = if name.contains("push") { "TaskPushNotificationConfig" } else { "Task" };
                assert_is(&result, kind);
                Ok(result)
            }
            Err(error) => Err(shown(&error)),
        }
    }

    pub(crate) async fn events(&self, method: &str, params: Value) -> Result<EventStream, Value> {
        match self.reply(method, &params).await {
            Ok(Reply::Events(events)) => Ok(events),
            Ok(other) => panic!("not a stream: {other:?}"),
            Err(error) => Err(shown(&error)),
        }
    }

    /// All events of a stream.
    pub(crate) async fn stream(&self, method: &str, params: Value) -> Vec<Value> {
        all(self.events(method, params).await.unwrap()).await
    }

    pub(crate) async fn send(&self, id: &str, text: &str) -> Result<Value, Value> {
        self.call("tasks/send", message(id, text)).await
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Value, Value> {
        self.call("tasks/get", json!({"id": id, "historyLength": 10})).await
    }
}

pub(crate) async fn served(request: Request, engine: &dyn Caller) -> Result<Reply, Error> {
    match v01().dialect().serve(request, engine) {
        Plan::Direct(request) => engine.call(request).await,
        Plan::Steps(steps) => steps.await,
    }
}

pub(crate) fn message(id: &str, text: &str) -> Value {
    json!({"id": id, "message": {"role": "user", "parts": [{"type": "text", "text": text}]}})
}

pub(crate) fn shown(error: &Error) -> Value {
    let mut to = Vec::new();
    v01().encode_error(error, &mut to);
    let error = crate::spec::json(&to);
    assert_is(&error, "JSONRPCError");
    error
}

pub(crate) fn event(event: &nuncio_model::StreamResponse) -> Value {
    let mut to = Vec::new();
    v01().encode_event(event, &mut to);
    let event = crate::spec::json(&to);
    let kind = if event["artifact"].is_null() { "TaskStatusUpdateEvent" } else { "TaskArtifactUpdateEvent" };
    assert_is(&event, kind);
    event
}

pub(crate) async fn all(events: EventStream) -> Vec<Value> {
    within(events.map(|it| event(&it.expect("the stream failed").response)).collect()).await
}

/// One summary per event: `working`, `completed.` for the last event, `0:one ` or `0+two` for an artifact.
pub(crate) fn summaries(events: &[Value]) -> Vec<String> {
    let summary = |event: &Value| match event["artifact"].as_object() {
        None => {
            let end = if event["final"] == true { "." } else { "" };
            format!("{}{end}", event["status"]["state"].as_str().unwrap())
        }
        Some(artifact) => {
            let sign = if artifact["append"] == true { "+" } else { ":" };
            let text: String =
                artifact["parts"].as_array().unwrap().iter().filter_map(|it| it["text"].as_str()).collect();
            format!("{}{sign}{text}", artifact["index"])
        }
    };
    events.iter().map(summary).collect()
}

/// A peer of 0.1 for a client. All requests and answers are converted to bytes.
pub(crate) struct Remote(pub(crate) Engine);

impl Caller for Remote {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move {
            let method = request.call.method();
            let raw = v01().encode_call(&request.call)?;
            let kind = match method {
                Method::SendMessage | Method::SendStreamingMessage => "TaskSendParams",
                Method::GetTask => "TaskQueryParams",
                Method::CreateTaskPushNotificationConfig => "TaskPushNotificationConfig",
                _ => "TaskIdParams",
            };
            assert_is(&serde_json::from_str(raw.get()).unwrap(), kind);
            let call: Call = v01().decode_call(method, Some(&raw))?;
            match served(Request::new(scope("remote"), call), &self.0).await? {
                Reply::Events(events) => Ok(Reply::Events(Box::pin(events.map(|event| {
                    let mut to = Vec::new();
                    v01().encode_event(&event?.response, &mut to);
                    Ok(Arc::new(nuncio_model::StreamEvent::new(None, v01().decode_event(&to)?)))
                })))),
                reply => {
                    let mut to = Vec::new();
                    v01().encode_reply(method, &reply, &mut to)?;
                    v01().decode_reply(method, &to)
                }
            }
        })
    }
}

/// Executes a call of a client of 0.1.
pub(crate) async fn ask(peer: &dyn Caller, call: impl Into<Call>) -> Result<Reply, Error> {
    let request = Request::new(Scope::open(), call);
    within(async {
        match v01().dialect().ask(request, peer) {
            Plan::Direct(request) => peer.call(request).await,
            Plan::Steps(steps) => steps.await,
        }
    })
    .await
}

pub(crate) fn task(reply: Reply) -> Task {
    Task::try_from(reply).unwrap()
}

pub(crate) fn status_text(task: &Task) -> String {
    task.status.message.as_deref().map(Message::text).unwrap_or_default()
}
