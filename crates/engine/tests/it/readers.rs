//! Slow, blocked and dropped readers.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use nuncio_engine::{AgentError, Engine, Limits, Turn};
use nuncio_model::{Message, Reply, Request, Scope, Task, op::SubscribeToTaskRequest};
use tokio::{sync::Semaphore, task::yield_now};

use crate::{rigged::Rigged, support::*};

async fn chunks(turn: &Turn, count: usize) -> Result<(), AgentError> {
    let mut artifact = turn.artifact("out");
    for i in 0..count {
        artifact.chunk(format!("{i},")).await?;
    }
    Ok(())
}

/// An engine with an agent that writes this number of chunks at each opening of the gate.
fn gated(store: &Arc<Rigged>, limits: Limits, count: usize) -> (Engine, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = builder(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            turn.begin().await?;
            loop {
                gate.acquire().await?.forget();
                chunks(&turn, count).await?;
            }
        }
    })
    .limits(limits)
    .store(Arc::clone(store) as _)
    .build();
    (engine, opened)
}

/// Waits until the log has this number of records.
async fn until_written(store: &Rigged, task: &Task, sequence: u64) {
    use nuncio_engine::TaskStore as _;
    within(async {
        while store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap().sequence < sequence {
            yield_now().await;
        }
    })
    .await;
}

fn limits(window: usize, slow_reader: Duration) -> Limits {
    let mut limits = Limits::default();
    limits.window = window;
    limits.slow_reader = slow_reader;
    limits
}

/// Longer than any test.
const FOR_EVER: Duration = Duration::from_mins(10);

#[tokio::test]
async fn a_blocked_reader_that_leaves_delays_no_task() {
    let store = Rigged::new();
    let (engine, gate) = gated(&store, limits(64, FOR_EVER), 500);
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    let stuck = subscribe(&engine, &task).await.unwrap();
    gate.add_permits(1);
    until_written(&store, &task, 65).await;
    drop(stuck);
    until_written(&store, &task, 502).await;
}

#[tokio::test]
async fn a_caller_waiting_for_the_end_needs_no_records() {
    let limits = limits(8, FOR_EVER);
    let engine = builder(|turn| async move {
        if turn.task().is_none() {
            return turn.ask("what else?").await;
        }
        chunks(&turn, 500).await
    })
    .limits(limits)
    .build();
    let task = send(&engine, nuncio_model::op::SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let task = send(&engine, follow(&task, "more")).await.unwrap();
    assert_eq!(task.artifacts[0].parts.len(), 500);
}

#[tokio::test]
async fn many_blocked_readers_delay_a_task_like_one() {
    let store = Rigged::new();
    let pause = Duration::from_millis(50);
    let (engine, gate) = gated(&store, limits(256, pause), 1);
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    // Each reader is blocked at another position.
    let mut stuck = Vec::new();
    for i in 0..100 {
        stuck.push(subscribe(&engine, &task).await.unwrap());
        gate.add_permits(1);
        until_written(&store, &task, 3 + i).await;
    }
    let begun = Instant::now();
    gate.add_permits(400);
    until_written(&store, &task, 502).await;
    assert!(begun.elapsed() < 20 * pause, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_evicted_reader_that_caught_up_reads_from_memory() {
    let store = Rigged::new();
    let (engine, gate) = gated(&store, limits(64, Duration::from_millis(10)), 100);
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    let mut events = subscribe(&engine, &task).await.unwrap();
    // The second hundred is written after the first has waited for the slow reader.
    for written in [102, 202] {
        gate.add_permits(1);
        until_written(&store, &task, written).await;
    }
    let mut last = 0;
    while last < 202 {
        last = next(&mut events).await.sequence.unwrap();
    }
    let reads = store.reads.load(Ordering::Acquire);
    assert!(reads > 0);
    for round in 1..=5 {
        gate.add_permits(1);
        while last < 202 + 100 * round {
            last = next(&mut events).await.sequence.unwrap();
        }
    }
    assert_eq!(store.reads.load(Ordering::Acquire), reads);
}

#[tokio::test]
async fn a_reader_of_the_store_does_not_delay_its_task() {
    let store = Rigged::new();
    let (engine, gate) = gated(&store, limits(64, FOR_EVER), 100);
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    gate.add_permits(5);
    until_written(&store, &task, 502).await;
    // The reader starts with records of the store, and continues in memory.
    let request = SubscribeToTaskRequest::new(task.id.clone());
    let request = Request { last_event: Some(1), ..Request::new(Scope::open(), request) };
    let Reply::Events(mut events) = engine.call(request).await.unwrap() else { panic!() };
    gate.add_permits(5);
    let mut expected = 2;
    while expected <= 1_002 {
        assert_eq!(next(&mut events).await.sequence, Some(expected));
        expected += 1;
    }
}

#[tokio::test]
async fn a_resumed_stream_of_an_ending_task_is_complete() {
    let store = Rigged::over(nuncio_engine::MemoryStore::new());
    let (engine, gate) = gated(&store, Limits::default(), 10);
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    gate.add_permits(1);
    until_written(&store, &task, 12).await;
    let request = SubscribeToTaskRequest::new(task.id.clone());
    let request = Request { last_event: Some(2), ..Request::new(Scope::open(), request) };
    let Reply::Events(events) = within(engine.call(request)).await.unwrap() else { panic!() };
    // The store keeps no records of ended tasks.
    gate.close();
    quiet_turns(&engine).await;
    let seen = summaries(&rest(events).await);
    assert_eq!(seen.len(), 11);
    assert_eq!(seen.last().unwrap(), "failed");
}

async fn quiet_turns(engine: &Engine) {
    within(async {
        while engine.running() > 0 {
            yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_readers_leave_no_state() {
    let store = Rigged::new();
    let (engine, gate) = gated(&store, Limits::default(), 100);
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    gate.add_permits(3);
    for _ in 0..200 {
        let mut events = subscribe(&engine, &task).await.unwrap();
        next(&mut events).await;
        drop(within(events.next()));
    }
    cancel(&engine, &task).await.unwrap();
    quiet(&engine).await;
}
