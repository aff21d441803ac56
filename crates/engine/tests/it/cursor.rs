//! Subscriptions with the last received event.

use std::sync::Arc;

use nuncio_engine::{AgentError, Engine, MemoryStore, Turn};
use nuncio_model::{
    Error, ErrorKind, EventStream, Message, Request, Scope, StreamEvent, Task, TaskState,
    op::{SendMessageRequest, SendStreamingMessageRequest, SubscribeToTaskRequest},
    resume,
};
use tokio::sync::Semaphore;

use crate::support::*;

async fn after(engine: &Engine, task: &Task, last: u64) -> Result<EventStream, Error> {
    let request = Request::new(Scope::open(), SubscribeToTaskRequest::new(task.id.clone()));
    within(engine.call(Request { last_event: Some(last), ..request })).await.map(events)
}

async fn refusal(engine: &Engine, task: &Task, last: u64) -> Error {
    match after(engine, task, last).await {
        Ok(_) => panic!("there is a stream after {last}"),
        Err(error) => error,
    }
}

fn fact(error: &Error) -> (ErrorKind, Option<&str>) {
    (error.kind(), error.metadata().get(resume::FACT).map(String::as_str))
}

/// Six chunks and the end: eight events. The last three chunks are written when the gate opens.
async fn chunks(turn: Turn, gate: &Semaphore) -> Result<(), AgentError> {
    let mut artifact = turn.artifact("out");
    for number in 0..6 {
        if number == 3 {
            gate.acquire().await?.forget();
        }
        artifact.chunk(format!("{number}")).await?;
    }
    Ok(())
}

fn engine_with(store: MemoryStore) -> (Engine, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let agent = move |turn| {
        let gate = Arc::clone(&gate);
        async move { chunks(turn, &gate).await }
    };
    (builder(agent).store(Arc::new(store)).build(), opened)
}

fn keeping() -> MemoryStore {
    MemoryStore::builder().keep_log(true).build()
}

fn numbers(events: &[Arc<StreamEvent>]) -> Vec<u64> {
    events.iter().map(|event| event.sequence.unwrap()).collect()
}

/// The task after this number of events in its log.
async fn begun(engine: &Engine) -> Task {
    let mut stream = stream(engine, Message::user("x")).await.unwrap();
    let mut last = next(&mut stream).await;
    let task = match &last.response {
        nuncio_model::StreamResponse::Task(task) => task.clone(),
        other => panic!("{other:?}"),
    };
    while last.sequence < Some(4) {
        last = next(&mut stream).await;
    }
    task
}

#[tokio::test]
async fn exactly_the_events_after_the_cursor_come_from_memory_and_from_the_store() {
    for has_reader in [true, false] {
        let (engine, gate) = engine_with(keeping());
        let task = begun(&engine).await;
        // While a reader reads, the log is in memory.
        let reader = if has_reader { Some(after(&engine, &task, 0).await.unwrap()) } else { None };
        let mut streams = Vec::new();
        for last in 0..=4 {
            streams.push((last, after(&engine, &task, last).await.unwrap()));
        }
        gate.add_permits(1);
        for (last, stream) in streams {
            assert_eq!(numbers(&rest(stream).await), (last + 1..=8).collect::<Vec<_>>(), "{has_reader} {last}");
        }
        drop(reader);
        quiet(&engine).await;
    }
}

#[tokio::test]
async fn an_ended_task_is_streamed_while_its_log_is_stored() {
    let (engine, gate) = engine_with(keeping());
    let task = begun(&engine).await;
    gate.add_permits(1);
    while !get(&engine, &task).await.state().is_terminal() {
        tokio::task::yield_now().await;
    }
    for last in 0..8 {
        let events = rest(after(&engine, &task, last).await.unwrap()).await;
        assert_eq!(numbers(&events), (last + 1..=8).collect::<Vec<_>>());
        assert_eq!(summary(events.last().unwrap()), "completed");
    }
    // This reader has read the end.
    assert_eq!(fact(&refusal(&engine, &task, 8).await), (ErrorKind::UnsupportedOperation, None));
    assert_eq!(fact(&refusal(&engine, &task, 9).await), (ErrorKind::InvalidParams, Some(resume::AHEAD)));
    quiet(&engine).await;
}

#[tokio::test]
async fn dropped_events_are_a_typed_error() {
    let (engine, gate) = engine_with(MemoryStore::new());
    gate.add_permits(1);
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let end = rest_of(&task);
    assert_eq!(fact(&refusal(&engine, &task, 3).await), (ErrorKind::UnsupportedOperation, Some(resume::EXPIRED)));
    assert_eq!(fact(&refusal(&engine, &task, end).await), (ErrorKind::UnsupportedOperation, None));
    assert_eq!(fact(&refusal(&engine, &task, end + 1).await), (ErrorKind::InvalidParams, Some(resume::AHEAD)));
    quiet(&engine).await;
}

/// The task, six chunks, and the end.
fn rest_of(task: &Task) -> u64 {
    assert_eq!((task.state(), task.artifacts[0].parts.len()), (TaskState::Completed, 6));
    8
}

#[tokio::test]
async fn a_cursor_beyond_the_end_is_refused_and_a_cursor_at_the_end_waits() {
    let (engine, gate) = engine_with(keeping());
    let task = begun(&engine).await;
    let error = refusal(&engine, &task, 5).await;
    assert_eq!(fact(&error), (ErrorKind::InvalidParams, Some(resume::AHEAD)));
    assert_eq!(error.field_violations()[0].field, resume::PARAMETER);
    assert_eq!(refusal(&engine, &task, u64::MAX).await.kind(), ErrorKind::InvalidParams);
    let mut stream = after(&engine, &task, 4).await.unwrap();
    gate.add_permits(1);
    assert_eq!(next(&mut stream).await.sequence, Some(5));
}

#[tokio::test]
async fn a_message_is_not_sent_again_to_resume_its_stream() {
    let (engine, _gate) = engine_with(keeping());
    let send = SendStreamingMessageRequest(SendMessageRequest::new(Message::user("x")));
    let request = Request { last_event: Some(1), ..Request::new(Scope::open(), send) };
    let error = within(engine.call(request)).await.map(|_| ()).unwrap_err();
    assert_eq!(fact(&error), (ErrorKind::InvalidParams, Some(resume::INVALID)));
    assert_eq!((engine.running(), engine.live_tasks()), (0, 0));
}
