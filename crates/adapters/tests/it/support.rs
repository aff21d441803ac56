//! Shared code of the tests: an engine for a program, calls, and checks of processes.

use std::{path::PathBuf, time::Duration};

use futures_util::StreamExt as _;
use nuncio_adapters::{Exec, JsonLines, Program, ProgramLimits};
use nuncio_engine::Engine;
use nuncio_model::{
    Call, EventStream, Message, Operation, Request, Scope, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    op::{CancelTaskRequest, SendMessageRequest, SendMessageResponse, SendStreamingMessageRequest},
};

/// Far longer than any step of a test takes.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn exec(script: &str) -> Engine {
    Engine::builder(Exec::new(Program::shell(script))).build()
}

pub(crate) fn exec_within(script: &str, limits: ProgramLimits) -> Engine {
    Engine::builder(Exec::new(Program::shell(script).with_limits(limits))).build()
}

pub(crate) fn json_lines(script: &str) -> Engine {
    json_lines_within(script, ProgramLimits::default())
}

pub(crate) fn json_lines_within(script: &str, limits: ProgramLimits) -> Engine {
    Engine::builder(JsonLines::new(Program::shell(script).with_limits(limits))).build()
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
pub(crate) async fn send(engine: &Engine, message: impl Into<String>) -> Task {
    task(answer(engine, Message::user(message.into())).await)
}

/// Sends the next message of a task.
pub(crate) async fn go_on(engine: &Engine, earlier: &Task, message: &str) -> Task {
    task(answer(engine, Message::user(message).with_task_id(earlier.id.clone())).await)
}

/// The task in an answer.
pub(crate) fn task(response: SendMessageResponse) -> Task {
    match response {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a message: {message:?}"),
    }
}

pub(crate) async fn cancel(engine: &Engine, task: &Task) -> Task {
    call(engine, CancelTaskRequest::new(task.id.clone())).await
}

/// The stream of a task.
pub(crate) struct Feed {
    pub(crate) task: Task,
    events: EventStream,
}

impl Feed {
    pub(crate) async fn open(engine: &Engine, message: &str) -> Self {
        let request = SendStreamingMessageRequest(SendMessageRequest::new(Message::user(message)));
        let mut feed = Self { task: Task::default(), events: call(engine, request).await };
        match feed.next().await {
            Some(StreamResponse::Task(task)) => feed.task = task,
            other => panic!("not a task: {other:?}"),
        }
        feed
    }

    pub(crate) async fn next(&mut self) -> Option<StreamResponse> {
        let next = tokio::time::timeout(TIME_LIMIT, self.events.next()).await.expect("an event in time");
        next.map(|event| event.unwrap().response.clone())
    }

    /// The next chunk of an artifact; status updates are skipped.
    pub(crate) async fn artifact(&mut self) -> TaskArtifactUpdateEvent {
        loop {
            match self.next().await.expect("an artifact before the end") {
                StreamResponse::ArtifactUpdate(update) => return update,
                StreamResponse::StatusUpdate(update) if !update.status.state.is_terminal() => {}
                other => panic!("not an artifact: {other:?}"),
            }
        }
    }

    /// All artifact updates up to the end, and the last state.
    pub(crate) async fn rest(mut self) -> (Vec<TaskArtifactUpdateEvent>, TaskState) {
        let (mut updates, mut state) = (Vec::new(), self.task.state());
        while let Some(event) = self.next().await {
            match event {
                StreamResponse::ArtifactUpdate(update) => updates.push(update),
                StreamResponse::StatusUpdate(update) => state = update.status.state,
                other => panic!("unexpected: {other:?}"),
            }
        }
        (updates, state)
    }
}

/// Artifact updates in a short form: text, append, last.
pub(crate) fn chunks(updates: &[TaskArtifactUpdateEvent]) -> Vec<(String, bool, bool)> {
    updates.iter().map(|update| (update.artifact.text(), update.append, update.last_chunk)).collect()
}

/// The message in the status of a task.
pub(crate) fn status_text(task: &Task) -> String {
    task.status.message.as_deref().map(Message::text).unwrap_or_default()
}

/// The text of the only artifact.
pub(crate) fn output(task: &Task) -> String {
    assert_eq!(task.artifacts.len(), 1, "{task:?}");
    task.artifacts[0].text()
}

/// Waits until a process has ended. A zombie counts as ended, because its new parent decides when to reap it.
pub(crate) async fn ended(pid: &str) {
    let pid: u32 = pid.trim().parse().unwrap();
    let status = PathBuf::from(format!("/proc/{pid}/status"));
    let dead = || std::fs::read_to_string(&status).map_or(true, |status| status.contains("State:\tZ"));
    eventually(dead, "the process has ended").await;
}

/// Polls until the condition holds.
pub(crate) async fn eventually(mut is_so: impl FnMut() -> bool, what: &str) {
    let deadline = tokio::time::Instant::now() + TIME_LIMIT;
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
