//! Helpers for tests: engines around a function, and short calls.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::StreamExt;
use nuncio_engine::{AgentError, Engine, EngineBuilder, MemoryStore, Turn, agent_fn};
use nuncio_model::{
    AgentCard, Call, Error, EventStream, Message, Principal, Reply, Request, Scope, StreamEvent, StreamResponse, Task,
    TaskState, Tenant,
    op::{
        CancelTaskRequest, GetTaskRequest, SendMessageConfiguration, SendMessageRequest, SendStreamingMessageRequest,
        SubscribeToTaskRequest,
    },
};

pub(crate) fn builder<F, R>(run: F) -> EngineBuilder
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    let mut card = AgentCard::new("test", "Under test.");
    card.capabilities.streaming = Some(true);
    card.capabilities.push_notifications = Some(true);
    Engine::builder(agent_fn(run)).card(card).store(Arc::new(MemoryStore::default()))
}

pub(crate) fn engine<F, R>(run: F) -> Engine
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    builder(run).build()
}

pub(crate) async fn call(engine: &Engine, call: impl Into<Call>) -> Result<Reply, Error> {
    within(engine.call(Request::new(Scope::open(), call))).await
}

/// Waits until no turn runs and no task is live.
pub(crate) async fn quiet(engine: &Engine) {
    within(async {
        while engine.running() > 0 || engine.live_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Fails a test that takes too long.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("took too long")
}

pub(crate) fn other_scope() -> Scope {
    Scope::new(Tenant::default(), Principal::named("mallory"))
}

pub(crate) fn at_once(message: Message) -> SendMessageRequest {
    SendMessageRequest::new(message)
        .with_configuration(SendMessageConfiguration { return_immediately: true, ..Default::default() })
}

/// The next message of a task.
pub(crate) fn follow(task: &Task, text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text).with_task_id(task.id.clone()))
}

pub(crate) async fn send(engine: &Engine, request: impl Into<SendMessageRequest>) -> Result<Task, Error> {
    match call(engine, request.into()).await? {
        Reply::Task(task) => Ok(Arc::unwrap_or_clone(task)),
        other => panic!("not a task: {other:?}"),
    }
}

pub(crate) async fn stream(engine: &Engine, message: Message) -> Result<EventStream, Error> {
    call(engine, SendStreamingMessageRequest(SendMessageRequest::new(message))).await.map(events)
}

pub(crate) async fn subscribe(engine: &Engine, task: &Task) -> Result<EventStream, Error> {
    call(engine, SubscribeToTaskRequest::new(task.id.clone())).await.map(events)
}

pub(crate) fn events(reply: Reply) -> EventStream {
    match reply {
        Reply::Events(events) => events,
        other => panic!("not a stream: {other:?}"),
    }
}

pub(crate) async fn get(engine: &Engine, task: &Task) -> Task {
    match call(engine, GetTaskRequest::new(task.id.clone())).await.unwrap() {
        Reply::Task(task) => Arc::unwrap_or_clone(task),
        other => panic!("not a task: {other:?}"),
    }
}

pub(crate) async fn cancel(engine: &Engine, task: &Task) -> Result<Task, Error> {
    match call(engine, CancelTaskRequest::new(task.id.clone())).await? {
        Reply::Task(task) => Ok(Arc::unwrap_or_clone(task)),
        other => panic!("not a task: {other:?}"),
    }
}

pub(crate) async fn next(events: &mut EventStream) -> Arc<StreamEvent> {
    within(events.next()).await.expect("the stream ended").expect("the stream failed")
}

pub(crate) async fn rest(events: EventStream) -> Vec<Arc<StreamEvent>> {
    within(events.map(|event| event.expect("the stream failed")).collect()).await
}

/// A short text for an event: `task:submitted`, `working`, `artifact:text`, `message:text`.
pub(crate) fn summary(event: &StreamEvent) -> String {
    match &event.response {
        StreamResponse::Task(task) => format!("task:{}", task.state().short()),
        StreamResponse::StatusUpdate(update) => update.status.state.short().to_owned(),
        StreamResponse::ArtifactUpdate(update) => format!("artifact:{}", update.artifact.text()),
        StreamResponse::Message(message) => format!("message:{}", message.text()),
    }
}

pub(crate) fn summaries(events: &[Arc<StreamEvent>]) -> Vec<String> {
    events.iter().map(|event| summary(event)).collect()
}

pub(crate) fn history(task: &Task) -> Vec<String> {
    task.history.iter().map(Message::text).collect()
}

pub(crate) fn assert_state(task: &Task, state: TaskState) {
    assert_eq!(task.state(), state, "{:?}", task.status.message.as_deref().map(Message::text));
}
