//! Shared code of the tests: an engine with the agent, calls, and short forms of results.

use std::time::Duration;

use futures_util::StreamExt as _;
use nuncio_demo::{Demo, DemoOptions, card};
use nuncio_engine::Engine;
use nuncio_model::{
    Call, Message, Operation, Request, Scope, StreamResponse, Task, TaskState,
    op::{CancelTaskRequest, SendMessageRequest, SendMessageResponse, SendStreamingMessageRequest},
};

/// Far longer than any step of a test takes.
const TIME_LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn demo() -> Engine {
    Engine::builder(Demo::new()).card(card(&DemoOptions::default())).build()
}

pub(crate) async fn call<O: Operation>(engine: &Engine, request: O) -> O::Output {
    let call: Call = request.into();
    let reply =
        tokio::time::timeout(TIME_LIMIT, engine.call(Request::new(Scope::open(), call))).await.expect("an answer");
    O::Output::try_from(reply.unwrap()).unwrap()
}

pub(crate) async fn answer(engine: &Engine, message: Message) -> SendMessageResponse {
    call(engine, SendMessageRequest::new(message)).await
}

/// Sends a message and waits for the task.
pub(crate) async fn send(engine: &Engine, message: Message) -> Task {
    match answer(engine, message).await {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a message: {message:?}"),
    }
}

/// Sends a text to a new agent, and waits for the task.
pub(crate) async fn say(text: &str) -> Task {
    send(&demo(), Message::user(text)).await
}

/// Sends the next message of a task.
pub(crate) async fn go_on(engine: &Engine, task: &Task, text: &str) -> Task {
    send(engine, Message::user(text).with_task_id(task.id.clone())).await
}

/// A message with an id of this prefix.
pub(crate) fn with_id(prefix: &str, text: &str) -> Message {
    Message { message_id: format!("{prefix}-0b3f").into(), ..Message::user(text) }
}

/// The message in the status of a task.
pub(crate) fn status_text(task: &Task) -> String {
    task.status.message.as_deref().map(Message::text).unwrap_or_default()
}

/// The state and the message of the status.
pub(crate) fn status(task: &Task) -> (TaskState, String) {
    (task.state(), status_text(task))
}

/// The events of the task in a short form: the state, or the artifact with its text and flags.
pub(crate) async fn events(message: Message) -> Vec<String> {
    let request = SendStreamingMessageRequest(SendMessageRequest::new(message));
    let mut events = call(&demo(), request).await;
    let mut all = Vec::new();
    while let Some(event) = tokio::time::timeout(TIME_LIMIT, events.next()).await.expect("an event in time") {
        all.push(match &event.unwrap().response {
            StreamResponse::Task(task) => format!("task {}", task.state().short()),
            StreamResponse::Message(message) => format!("message {}", message.text()),
            StreamResponse::StatusUpdate(update) => update.status.state.short().to_owned(),
            StreamResponse::ArtifactUpdate(update) => {
                let appends = if update.append { " append" } else { "" };
                let last = if update.last_chunk { " last" } else { "" };
                format!("{} {:?}{appends}{last}", update.artifact.artifact_id, update.artifact.text())
            }
        });
    }
    all
}

/// Starts a task, waits for the state working, and cancels the task.
pub(crate) async fn cancel_while_working(message: Message) -> Task {
    let engine = demo();
    let request = SendStreamingMessageRequest(SendMessageRequest::new(message));
    let mut events = call(&engine, request).await;
    let mut id = None;
    while let Some(event) = tokio::time::timeout(TIME_LIMIT, events.next()).await.expect("an event in time") {
        match &event.unwrap().response {
            StreamResponse::Task(task) => id = Some(task.id.clone()),
            StreamResponse::StatusUpdate(update) if update.status.state == TaskState::Working => break,
            other => panic!("unexpected: {other:?}"),
        }
    }
    call(&engine, CancelTaskRequest::new(id.expect("a task first"))).await
}
