//! Another node takes over all tasks of a failed node, whatever the tasks contain.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{AgentError, Engine, Record, TaskStore, Turn, store::Commit};
use nuncio_model::{Message, Scope, StreamResponse, Task, TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent};
use nuncio_suites::{MemoryNode, SharedMemory};
use tokio::time::{Instant, sleep};

use crate::{rigged::at_work, support::*};

const LEASE: Duration = Duration::from_secs(6);

/// The time limit for settling all tasks.
const SOON: Duration = Duration::from_secs(2);

async fn for_ever(turn: Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    std::future::pending().await
}

/// A node that only keeps its lease until it fails, and another node that takes over.
async fn nodes() -> (MemoryNode, Arc<MemoryNode>, Engine) {
    let memory = SharedMemory::new(LEASE);
    let (gone, node) = (memory.node().await, Arc::new(memory.node().await));
    let engine = builder(for_ever).store(Arc::clone(&node) as _).build();
    engine.recover().await.unwrap();
    (gone, node, engine)
}

async fn state(node: &MemoryNode, id: &str) -> TaskState {
    node.load(&Scope::open(), &id.into()).await.unwrap().unwrap().task.state()
}

async fn until_ended(node: &MemoryNode, ids: impl Iterator<Item = String>) {
    let begun = Instant::now();
    for id in ids {
        while !state(node, &id).await.is_terminal() {
            assert!(begun.elapsed() < SOON, "{id} is at work");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn thousands_of_tasks_are_settled_as_soon_as_one() {
    let (gone, node, _engine) = nodes().await;
    for number in 0..3_000 {
        gone.commit(at_work(&number.to_string())).await.unwrap();
    }
    gone.close().await.unwrap();
    until_ended(&node, (0..3_000).map(|number| number.to_string())).await;
}

#[tokio::test(start_paused = true)]
async fn tasks_that_cannot_be_settled_are_retried_and_do_not_block_other_tasks() {
    let (gone, node, engine) = nodes().await;
    for number in 0..500 {
        gone.commit(at_work(&number.to_string())).await.unwrap();
    }
    // More old tasks than one page.
    let damaged: Vec<_> = (0..300).map(|number| TaskId::from(number.to_string())).collect();
    for id in &damaged {
        node.damage(id, true);
    }
    gone.close().await.unwrap();
    until_ended(&node, (300..500).map(|number| number.to_string())).await;
    sleep(LEASE * 10).await;
    let late = gone_late(&node).await;
    until_ended(&node, late).await;
    for id in &damaged {
        node.damage(id, false);
    }
    let begun = Instant::now();
    for id in &damaged {
        while !state(&node, id.as_str()).await.is_terminal() {
            assert!(begun.elapsed() < Duration::from_mins(2), "{id} is at work");
            sleep(Duration::from_secs(1)).await;
        }
    }
    assert_eq!(engine.zombies(), 0);
}

/// Another node starts, stops, and leaves tasks.
async fn gone_late(node: &MemoryNode) -> impl Iterator<Item = String> + use<> {
    let gone = node.beside().await;
    let ids: Vec<_> = (0..10).map(|number| format!("late {number}")).collect();
    for id in &ids {
        gone.commit(at_work(id)).await.unwrap();
    }
    gone.close().await.unwrap();
    ids.into_iter()
}

/// A task that waits for credentials, with a message that waits for its turn.
fn with_a_message_that_waits(id: &str) -> Commit {
    let mut commit = at_work(id);
    let auth = TaskStatusUpdateEvent { status: TaskStatus::new(TaskState::AuthRequired), ..Default::default() };
    commit.records.push(Record::update(3, StreamResponse::StatusUpdate(auth)));
    commit.records.push(Record::waiting(4, Message::user("here they are")));
    commit.state = TaskState::AuthRequired;
    commit
}

#[tokio::test(start_paused = true)]
async fn a_turn_during_settling_does_not_delay_other_tasks() {
    let (gone, node, engine) = nodes().await;
    for number in 0..50 {
        gone.commit(with_a_message_that_waits(&format!("long {number}"))).await.unwrap();
    }
    gone.commit(at_work("short")).await.unwrap();
    gone.close().await.unwrap();
    until_ended(&node, std::iter::once("short".to_owned())).await;
    let late = gone_late(&node).await;
    until_ended(&node, late).await;
    let long = get(&engine, &Task { id: "long 0".into(), ..Task::default() }).await;
    assert_state(&long, TaskState::Working);
    assert_eq!(engine.running(), 50);
}

#[tokio::test]
async fn tasks_of_another_agent_are_not_run() {
    let store: Arc<dyn TaskStore> = Arc::new(nuncio_engine::MemoryStore::default());
    let named =
        |name: &str| builder(for_ever).store(Arc::clone(&store)).card(nuncio_model::AgentCard::new(name, "An agent."));
    let first = named("first").build();
    first.recover().await.unwrap();
    store.commit(at_work("left")).await.unwrap();
    let refused = named("second").build().recover().await.unwrap_err();
    for said in ["`first`", "`second`", "EngineBuilder::adopt"] {
        assert!(refused.message().contains(said), "{refused}");
    }
    let left = store.load(&Scope::open(), &"left".into()).await.unwrap().unwrap();
    assert_eq!(left.task.state(), TaskState::Working);
    named("second").adopt(true).build().recover().await.unwrap();
    assert!(named("first").build().recover().await.is_err());
}
