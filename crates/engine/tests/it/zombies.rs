//! Zombie tasks: the store has them as running, but they have no runner. The periodic comparison finds and settles
//! them.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{AgentError, Engine, Limits, TaskStore, Turn, store::Erase};
use nuncio_model::{ErrorKind, Message, Scope, Task, TaskState, op::SendMessageRequest};
use nuncio_suites::SharedMemory;
use tokio::time::{Instant, sleep};

use crate::{
    rigged::{Fate, Rigged, at_work},
    support::*,
};

/// The interval between two comparisons of a node.
const PERIOD: Duration = Duration::from_secs(10);

const LEASE: Duration = Duration::from_secs(6);

async fn asks(turn: Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    if turn.message().text() == "for ever" { std::future::pending().await } else { turn.ask("what else?").await }
}

/// Waits until a task has ended, with a time limit.
async fn ends_within(engine: &Engine, id: &str, time: Duration) -> Task {
    let task = Task { id: id.into(), ..Task::default() };
    let begun = Instant::now();
    loop {
        let task = get(engine, &task).await;
        if task.state().is_terminal() {
            return task;
        }
        assert!(begun.elapsed() < time, "{id} is at work after {:?}", begun.elapsed());
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_zombie_is_found_and_settled() {
    // If there are more tasks than the queue can hold, some wait for a later comparison.
    for running_turns in [100_000, 1_000] {
        let mut limits = Limits::default();
        limits.running_turns = running_turns;
        let store = Rigged::new();
        let engine = builder(asks).store(Arc::clone(&store) as _).limits(limits).build();
        engine.recover().await.unwrap();
        // More tasks than one page.
        for number in 0..2_500 {
            store.orphan(&number.to_string()).await;
        }
        let looks = if running_turns < 2_500 { 10 } else { 3 };
        for number in (0..2_500).step_by(100) {
            ends_within(&engine, &number.to_string(), PERIOD * looks).await;
        }
        assert!(engine.zombies() >= 2_500);
        assert!(store.inner().at_work(None, 10).await.unwrap().tasks.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_with_a_runner_or_at_rest_is_no_zombie() {
    let store = Rigged::new();
    let engine = builder(asks).store(Arc::clone(&store) as _).build();
    engine.recover().await.unwrap();
    let running = send(&engine, at_once(Message::user("for ever"))).await.unwrap();
    let parked = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    sleep(PERIOD * 10).await;
    assert_state(&get(&engine, &running).await, TaskState::Working);
    assert_state(&get(&engine, &parked).await, TaskState::InputRequired);
    assert_eq!(engine.zombies(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_comparison_is_repeated() {
    let memory = SharedMemory::new(LEASE);
    let node = Arc::new(memory.node().await);
    let engine = builder(asks).store(Arc::clone(&node) as _).build();
    engine.recover().await.unwrap();
    node.commit(at_work("zombie")).await.unwrap();
    // Shorter than a lease, so that the second comparison finds the task.
    sleep((LEASE * 2).saturating_sub(Duration::from_secs(1))).await;
    node.cut_off(true);
    sleep(Duration::from_secs(2)).await;
    node.cut_off(false);
    assert_state(&ends_within(&engine, "zombie", LEASE * 3).await, TaskState::Failed);
    assert_eq!(engine.zombies(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_node_looks_through_its_own() {
    let memory = SharedMemory::new(LEASE);
    let (here, there) = (Arc::new(memory.node().await), Arc::new(memory.node().await));
    let engines = [&here, &there].map(|node| builder(asks).store(Arc::clone(node) as _).build());
    for engine in &engines {
        engine.recover().await.unwrap();
    }
    let running = send(&engines[1], at_once(Message::user("for ever"))).await.unwrap();
    here.commit(at_work("zombie")).await.unwrap();
    ends_within(&engines[1], "zombie", LEASE * 3).await;
    assert_eq!(engines.each_ref().map(Engine::zombies), [1, 0]);
    assert_state(&get(&engines[0], &running).await, TaskState::Working);
}

/// A message before the comparison learns that the task was cut off, and has no turn in addition.
#[tokio::test]
async fn a_message_to_a_zombie_settles_it() {
    let store = Rigged::new();
    let engine = builder(asks).store(Arc::clone(&store) as _).build();
    let orphan = store.orphan("zombie").await;
    let task = Task { id: orphan.id, ..Task::default() };
    let error = send(&engine, follow(&task, "more")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    let task = get(&engine, &task).await;
    assert_state(&task, TaskState::Failed);
    assert_eq!(history(&task), ["work"]);
    let stored = store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap();
    assert_eq!(stored.sequence, 3);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_store_can_never_hold_is_not_tried_for_ever() {
    let store = Rigged::new();
    let engine = builder(asks).store(Arc::clone(&store) as _).build();
    engine.recover().await.unwrap();
    store.orphan("large").await;
    store.commits([Fate::TooLarge; 1_000]);
    sleep(PERIOD * 10).await;
    let (left, zombies) = (store.fates_left(), engine.zombies());
    assert!((900..1_000).contains(&left), "{left}");
    sleep(PERIOD * 1_000).await;
    assert_eq!((store.fates_left(), engine.zombies()), (left, zombies));
}

/// A task that the store can never hold is not tried again. Its erasure ends that also for a later task with its id.
#[tokio::test(start_paused = true)]
async fn an_erased_task_does_not_hide_a_later_task_with_its_id() {
    for is_known in [true, false] {
        let store = Rigged::new();
        let engine = builder(asks).store(Arc::clone(&store) as _).build();
        engine.recover().await.unwrap();
        let orphan = store.orphan("large").await;
        store.commits([Fate::TooLarge; 1_000]);
        sleep(PERIOD * 10).await;
        let erase = Erase::Task(orphan.scope, orphan.id);
        if is_known {
            assert_eq!(engine.erase(&erase).await.unwrap(), 1);
        } else {
            assert_eq!(store.inner().erase(&erase).await.unwrap(), 1);
            sleep(PERIOD * 2).await;
        }
        store.commits([]);
        store.orphan("large").await;
        ends_within(&engine, "large", PERIOD * 3).await;
    }
}
