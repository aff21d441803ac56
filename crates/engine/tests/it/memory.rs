//! Limits of memory in bytes: for readers, and for turns.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use nuncio_engine::{AgentError, Engine, Limits, MemoryStore, Turn};
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{
    Call, Error, ErrorKind, EventStream, Message, Principal, Reply, Request, Scope, StreamEvent, StreamResponse, Task,
    TaskState, Tenant,
    op::{CancelTaskRequest, SendMessageRequest, SendStreamingMessageRequest},
};
use tokio::{sync::Semaphore, task::yield_now};

use crate::{rigged::Rigged, support::*};

const CHUNK: usize = 16 * 1024;

/// Writes the number of chunks in the message.
async fn write(turn: Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    let mut artifact = turn.artifact("out");
    for number in 0..turn.message().text().parse::<usize>().unwrap_or(0) {
        artifact.chunk(format!("{number} {}", "x".repeat(CHUNK))).await?;
    }
    turn.complete("done").await
}

fn writing(change: impl FnOnce(&mut Limits)) -> Engine {
    let mut limits = Limits::default();
    change(&mut limits);
    builder(write).store(Arc::new(MemoryStore::builder().keep_log(true).build())).limits(limits).build()
}

async fn until(condition: impl Fn() -> bool) {
    within(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// Checks that a stream has each chunk once and in order, and its end.
fn assert_whole(events: &[Arc<StreamEvent>], chunks: usize) {
    let numbers: Vec<_> = events.iter().map(|event| event.sequence.unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
    let chunk = |event: &Arc<StreamEvent>| match &event.response {
        StreamResponse::ArtifactUpdate(update) => update.artifact.text().split(' ').next().unwrap().parse().ok(),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(chunk).collect::<Vec<usize>>(), (0..chunks).collect::<Vec<_>>());
    assert_eq!(summary(events.last().unwrap()), "completed");
}

#[tokio::test]
async fn a_task_keeps_no_more_bytes_for_a_stuck_reader_than_its_window_has() {
    let window = 8 * CHUNK;
    let engine = writing(|limits| {
        (limits.window_bytes, limits.slow_reader) = (window, Duration::from_millis(10));
    });
    let stuck = stream(&engine, Message::user("200")).await.unwrap();
    let mut most = 0;
    within(async {
        while engine.running() > 0 {
            most = most.max(engine.kept_bytes());
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    })
    .await;
    // One step of the agent can exceed the limit by the capacity of its queue.
    assert!(most > 0 && most <= window + 256 * 1024 + 2 * CHUNK, "{most}");
    assert_whole(&rest(stuck).await, 200);
    until(|| engine.kept_bytes() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_streams_stay_within_the_memory_limit_and_block_no_task() {
    const MOST: usize = 1024 * 1024;
    const STREAMS: usize = 60;
    let engine = writing(|limits| (limits.kept_bytes, limits.slow_reader) = (MOST, Duration::from_mins(10)));
    let open = (0..STREAMS).map(|_| stream(&engine, Message::user("100")));
    let mut unread: Vec<EventStream> = join_all(open).await.into_iter().map(Result::unwrap).collect();
    // Each reader has read a little.
    for events in &mut unread {
        next(events).await;
    }
    let mut most = 0;
    within(async {
        while engine.running() > 0 {
            most = most.max(engine.kept_bytes());
            yield_now().await;
        }
    })
    .await;
    // All streams have 98 MB of events. The limit can be exceeded by one event per reader, and by the events of two
    // tasks before a check.
    let at_rest = MOST + STREAMS * (CHUNK + 1024);
    assert!(most > MOST / 4 && most < at_rest + 2 * (256 * 1024 + 2 * CHUNK), "{most}");
    assert!(engine.kept_bytes() <= at_rest, "{}", engine.kept_bytes());
    // No writer waited for ten minutes, and readers read from memory.
    let task = send(&engine, SendMessageRequest::new(Message::user("3"))).await.unwrap();
    assert_eq!(task.artifacts[0].parts.len(), 3);
    assert_whole(&rest(stream(&engine, Message::user("50")).await.unwrap()).await, 50);
    for (number, events) in unread.into_iter().enumerate() {
        assert_whole(&rest(events).await, 100);
        assert!(engine.kept_bytes() <= at_rest, "{number}");
    }
    until(|| engine.kept_bytes() == 0 && engine.live_tasks() == 0).await;
}

#[tokio::test]
async fn readers_read_small_portions_above_the_memory_limit() {
    let reads = async |kept_bytes: usize| {
        let store = Rigged::new();
        let mut limits = Limits::default();
        limits.kept_bytes = kept_bytes;
        let engine = builder(write).store(Arc::clone(&store) as _).limits(limits).build();
        let mut unread = stream(&engine, Message::user("100")).await.unwrap();
        next(&mut unread).await;
        until(|| engine.running() == 0).await;
        // The reader was evicted, and reads its events from the store.
        assert_whole(&rest(unread).await, 100);
        until(|| engine.kept_bytes() == 0).await;
        store.reads.load(Ordering::Acquire)
    };
    let (little, much) = (reads(1).await, reads(64 * 1024).await);
    assert!(little >= 100 && (1..20).contains(&much), "{little} and {much} reads");
}

#[tokio::test]
async fn a_large_ended_task_is_evicted_while_its_events_are_read() {
    let engine = writing(|limits| limits.kept_bytes = 64 * 1024);
    let mut unread = stream(&engine, Message::user("200")).await.unwrap();
    let first = next(&mut unread).await;
    let StreamResponse::Task(task) = &first.response else { panic!("{first:?}") };
    until(|| engine.running() == 0 && engine.held_bytes() == 0).await;
    assert_eq!(engine.live_tasks(), 1, "its events are yet to be read");
    // Later callers can read the task.
    assert_eq!(get(&engine, task).await.artifacts[0].parts.len(), 200);
    let error = cancel(&engine, task).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
    let error = send(&engine, follow(task, "more")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(engine.held_bytes(), 0);
    let rest = rest(unread).await;
    assert_whole(&rest, 200);
}

fn scope(name: &str) -> Scope {
    Scope::new(Tenant::default(), Principal::named(name))
}

async fn of(engine: &Engine, name: &str, call: impl Into<Call>) -> Result<Reply, Error> {
    within(engine.call(Request::new(scope(name), call))).await
}

async fn task_of(engine: &Engine, name: &str, call: impl Into<Call>) -> Result<Task, Error> {
    match of(engine, name, call).await? {
        Reply::Task(task) => Ok(Arc::unwrap_or_clone(task)),
        other => panic!("{other:?}"),
    }
}

fn of_size(bytes: usize) -> SendMessageRequest {
    at_once(Message::user("x".repeat(bytes)))
}

fn is_refused(outcome: Result<Task, Error>, limit: &str) {
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::ResourceExhausted, Some(RETRY_AFTER)), "{error}");
    assert_eq!(error.metadata()["limit"], limit);
}

/// An agent with turns that wait for a cancel, or for a permit of this gate.
fn waiting(change: impl FnOnce(&mut Limits)) -> (Engine, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let run = move |turn: Turn| {
        let gate = Arc::clone(&opened);
        async move {
            turn.begin().await?;
            tokio::select! {
                () = turn.cancelled().cancelled() => Ok(()),
                permit = gate.acquire() => {
                    permit?.forget();
                    turn.ask("next").await
                }
            }
        }
    };
    let mut limits = Limits::default();
    change(&mut limits);
    (builder(run).limits(limits).build(), gate)
}

#[tokio::test]
async fn messages_of_turns_and_in_queues_are_limited_by_their_bytes() {
    const KIB: usize = 1024;
    let (engine, gate) = waiting(|limits| {
        (limits.held_bytes_per_caller, limits.held_bytes) = (10 * KIB, 15 * KIB);
    });
    let task = task_of(&engine, "alice", of_size(6 * KIB)).await.unwrap();
    assert_eq!(engine.held_bytes(), 6 * KIB);
    let more = |task: &Task, bytes| at_once(follow(task, &"x".repeat(bytes)).message);
    task_of(&engine, "alice", more(&task, 4 * KIB)).await.unwrap();
    // Neither a turn nor a waiting place is available.
    is_refused(task_of(&engine, "alice", of_size(KIB)).await, "held_bytes_per_caller");
    is_refused(task_of(&engine, "alice", more(&task, KIB)).await, "held_bytes_per_caller");
    // Small messages are not counted.
    task_of(&engine, "alice", of_size(KIB - 1)).await.unwrap();
    let of_bob = task_of(&engine, "bob", of_size(5 * KIB)).await.unwrap();
    is_refused(task_of(&engine, "bob", more(&of_bob, KIB)).await, "held_bytes");
    is_refused(task_of(&engine, "carol", of_size(KIB)).await, "held_bytes");
    // The end of a task is always accepted.
    let canceled = task_of(&engine, "bob", CancelTaskRequest::new(of_bob.id)).await.unwrap();
    assert_state(&canceled, TaskState::Canceled);
    until(|| engine.held_bytes() == 10 * KIB).await;
    task_of(&engine, "carol", of_size(5 * KIB)).await.unwrap();
    // An ended turn uses no memory.
    gate.add_permits(99);
    until(|| engine.running() == 0).await;
    assert_eq!(engine.held_bytes(), 0);
}

#[tokio::test]
async fn only_the_growing_task_fails_at_the_memory_limit_of_its_caller() {
    let engine = writing(|limits| {
        (limits.held_bytes_per_caller, limits.held_bytes) = (40 * CHUNK, 1 << 30);
    });
    let of_bob = of(&engine, "bob", SendStreamingMessageRequest(SendMessageRequest::new(Message::user("30")))).await;
    let task = task_of(&engine, "alice", SendMessageRequest::new(Message::user("100"))).await.unwrap();
    assert_state(&task, TaskState::Failed);
    let reason = task.status.message.as_ref().unwrap().text();
    assert_eq!(reason, "the tasks that are at work hold too much in memory (held_bytes_per_caller)");
    let kept = task.artifacts[0].parts.len();
    assert!((30..40).contains(&kept), "what there was room for is kept: {kept}");
    assert_whole(&rest(events(of_bob.unwrap())).await, 30);
    until(|| engine.running() == 0 && engine.held_bytes() == 0).await;
    // Memory is available again, and the size of a task does not prevent its end.
    let task = task_of(&engine, "alice", SendMessageRequest::new(Message::user("30"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
}

#[tokio::test]
async fn a_large_interrupted_task_continues_when_memory_is_available() {
    const KIB: usize = 1024;
    let (engine, gate) = waiting(|limits| limits.held_bytes = 400 * KIB);
    gate.add_permits(1);
    let task = send(&engine, SendMessageRequest::new(Message::user("x".repeat(60 * KIB)))).await.unwrap();
    assert_state(&task, TaskState::InputRequired);
    until(|| engine.live_tasks() == 0).await;
    assert_eq!(engine.held_bytes(), 0);
    // The memory of the message and of the task.
    let other = send(&engine, of_size(190 * KIB)).await.unwrap();
    until(|| engine.held_bytes() > 380 * KIB).await;
    is_refused(send(&engine, at_once(follow(&task, "go on").message)).await, "held_bytes");
    assert_state(&get(&engine, &task).await, TaskState::InputRequired);
    cancel(&engine, &other).await.unwrap();
    until(|| engine.held_bytes() == 0).await;
    send(&engine, at_once(follow(&task, "go on").message)).await.unwrap();
    until(|| engine.held_bytes() > 60 * KIB).await;
    is_refused(send(&engine, of_size(340 * KIB)).await, "held_bytes");
    assert_state(&cancel(&engine, &task).await.unwrap(), TaskState::Canceled);
    until(|| engine.held_bytes() == 0).await;
}
