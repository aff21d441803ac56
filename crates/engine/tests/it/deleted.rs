//! Tasks that are deleted while they are read, awaited or running. All callers on all nodes get the error that the task
//! does not exist, and no caller gets deleted data.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_engine::{
    Engine, EngineBuilder, Housekeeping, Limits, MemoryStore, Retention, TaskStore, bus::LocalBus, store::Erase,
};
use nuncio_model::{Error, ErrorKind, EventStream, Message, Scope, Task, TaskState, op::GetTaskRequest};
use nuncio_suites::{MemoryNode, SharedMemory};
use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{rigged::Rigged, support::*};

/// Asks, or starts and emits events when the gate permits.
fn agent(gate: &Arc<Semaphore>) -> EngineBuilder {
    let gate = Arc::clone(gate);
    builder(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            if turn.message().text() == "ask" {
                return turn.ask("what else?").await;
            }
            turn.begin().await?;
            loop {
                gate.acquire().await?.forget();
                turn.artifact("out").chunk("x").await?;
            }
        }
    })
}

fn closed() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

fn kind<T>(outcome: Result<T, Error>) -> ErrorKind {
    outcome.err().expect("it was served").kind()
}

async fn begin(engine: &Engine, text: &str) -> Task {
    send(engine, at_once(Message::user(text))).await.unwrap()
}

/// Reads a task from its snapshot on.
async fn reads(engine: &Engine, task: &Task) -> EventStream {
    let mut events = subscribe(engine, task).await.unwrap();
    next(&mut events).await;
    events
}

/// The error at the end of the stream of a deleted task. Events may come before the error.
async fn end(mut events: EventStream) -> ErrorKind {
    tokio::time::timeout(Duration::from_mins(5), async {
        loop {
            match events.next().await.expect("it ended as though the task had") {
                Ok(_) => {}
                Err(error) => return error.kind(),
            }
        }
    })
    .await
    .expect("nobody is told")
}

/// A message to a running task. The sender waits for the turn.
async fn waits(engine: &Engine, task: &Task) -> JoinHandle<Result<Task, Error>> {
    let (sender, request) = (engine.clone(), follow(task, "more"));
    let waiting = tokio::spawn(async move {
        let reply = sender.call(nuncio_model::Request::new(Scope::open(), request)).await?;
        match reply {
            nuncio_model::Reply::Task(task) => Ok(Arc::unwrap_or_clone(task)),
            other => panic!("not a task: {other:?}"),
        }
    });
    within(async {
        while get(engine, task).await.history.len() < 2 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    waiting
}

/// Waits until no task runs or is read, with time for one poll of the store.
async fn at_rest(engine: &Engine) {
    within(async {
        while engine.running() > 0 || engine.live_tasks() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

async fn is_nowhere(engine: &Engine, task: &Task) {
    assert_eq!(kind(call(engine, GetTaskRequest::new(task.id.clone())).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(subscribe(engine, task).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(send(engine, follow(task, "more")).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(cancel(engine, task).await), ErrorKind::TaskNotFound);
}

async fn erase(store: &dyn TaskStore, task: &Task) {
    assert_eq!(store.erase(&Erase::Task(Scope::open(), task.id.clone())).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn readers_of_a_purged_task_get_an_error() {
    let mut house = Housekeeping::default();
    house.retention = Retention::new().with(TaskState::InputRequired, Duration::from_millis(50));
    let engine = agent(&closed()).housekeeping(house).build();
    engine.recover().await.unwrap();
    let task = begin(&engine, "ask").await;
    let events = reads(&engine, &task).await;
    // The age of a task is measured from its status, by the wall clock.
    tokio::time::resume();
    assert_eq!(within(end(events)).await, ErrorKind::TaskNotFound);
    is_nowhere(&engine, &task).await;
    at_rest(&engine).await;
}

#[tokio::test(start_paused = true)]
async fn readers_of_an_evicted_task_get_an_error() {
    let store = Arc::new(MemoryStore::builder().max_tasks(Some(1)).build());
    let engine = agent(&closed()).store(store).build();
    engine.recover().await.unwrap();
    let task = begin(&engine, "ask").await;
    let events = reads(&engine, &task).await;
    begin(&engine, "ask").await;
    assert_eq!(end(events).await, ErrorKind::TaskNotFound);
    is_nowhere(&engine, &task).await;
}

/// The deletion bypasses the engine and uses the store directly.
#[tokio::test(start_paused = true)]
async fn a_task_deleted_in_the_store_is_deleted_for_all_callers() {
    for speaks in [true, false] {
        let gate = closed();
        let engine = agent(&gate).build();
        engine.recover().await.unwrap();
        let task = begin(&engine, "go").await;
        let (events, sender) = (reads(&engine, &task).await, waits(&engine, &task).await);
        erase(&**engine.store(), &task).await;
        let begun = Instant::now();
        if speaks {
            gate.add_permits(1);
        }
        assert_eq!(end(events).await, ErrorKind::TaskNotFound);
        assert_eq!(kind(within(sender).await.unwrap()), ErrorKind::TaskNotFound);
        if speaks {
            assert!(begun.elapsed() < Duration::from_secs(1), "it was not heard of at the next commit");
        }
        is_nowhere(&engine, &task).await;
        at_rest(&engine).await;
    }
}

struct Node {
    engine: Engine,
    store: Arc<MemoryNode>,
}

async fn node(shared: &SharedMemory, with: impl FnOnce() -> EngineBuilder) -> Node {
    let store = Arc::new(shared.node().await);
    let engine = with().store(Arc::clone(&store) as _).build();
    engine.recover().await.unwrap();
    Node { engine, store }
}

/// A node that runs the task, a node that reads, and a node that deletes.
async fn three(gate: &Arc<Semaphore>) -> [Node; 3] {
    let shared = SharedMemory::new(Duration::from_mins(1));
    [node(&shared, || agent(gate)).await, node(&shared, || agent(gate)).await, node(&shared, || agent(gate)).await]
}

#[tokio::test(start_paused = true)]
async fn a_running_task_deleted_by_another_node_is_deleted_on_all_nodes() {
    for speaks in [true, false] {
        let gate = closed();
        let [a, b, c] = three(&gate).await;
        let task = begin(&a.engine, "go").await;
        let readers = [reads(&a.engine, &task).await, reads(&b.engine, &task).await];
        let sender = waits(&b.engine, &task).await;
        erase(&*c.store, &task).await;
        assert_eq!(kind(subscribe(&b.engine, &task).await), ErrorKind::TaskNotFound, "at once");
        let begun = Instant::now();
        if speaks {
            gate.add_permits(1);
        }
        for events in readers {
            assert_eq!(within(end(events)).await, ErrorKind::TaskNotFound);
        }
        assert_eq!(kind(within(sender).await.unwrap()), ErrorKind::TaskNotFound);
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        for node in [&a, &b, &c] {
            is_nowhere(&node.engine, &task).await;
            at_rest(&node.engine).await;
        }
    }
}

/// A caller that waits for a turn there does not get the old task.
#[tokio::test(start_paused = true)]
async fn a_sender_on_the_running_node_gets_the_error() {
    let [a, _, c] = three(&closed()).await;
    let task = begin(&a.engine, "go").await;
    let sender = waits(&a.engine, &task).await;
    erase(&*c.store, &task).await;
    assert_eq!(kind(within(sender).await.unwrap()), ErrorKind::TaskNotFound);
    is_nowhere(&a.engine, &task).await;
    at_rest(&a.engine).await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_task_deleted_by_another_node_is_deleted_on_all_nodes() {
    let [a, b, c] = three(&closed()).await;
    let task = begin(&a.engine, "ask").await;
    let readers = [reads(&a.engine, &task).await, reads(&b.engine, &task).await];
    erase(&*c.store, &task).await;
    for node in [&a, &b, &c] {
        is_nowhere(&node.engine, &task).await;
    }
    for events in readers {
        assert_eq!(within(end(events)).await, ErrorKind::TaskNotFound);
    }
}

/// The log of the new task is shorter than the known log of the old task.
#[tokio::test(start_paused = true)]
async fn a_task_with_the_id_of_a_deleted_task_is_a_new_task() {
    let gate = Arc::new(Semaphore::new(5));
    let [a, b, c] = three(&gate).await;
    let task = begin(&a.engine, "go").await;
    within(async {
        while gate.available_permits() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let readers = [reads(&a.engine, &task).await, reads(&b.engine, &task).await];
    erase(&*c.store, &task).await;
    c.store.commit(crate::store::create(task.id.as_str(), TaskState::InputRequired)).await.unwrap();
    for events in readers {
        assert_eq!(within(end(events)).await, ErrorKind::TaskNotFound);
    }
    for node in [&a, &b] {
        let mut anew = subscribe(&node.engine, &task).await.unwrap();
        let first = next(&mut anew).await;
        assert_eq!(summary(&first), "task:input-required");
    }
}

/// With a bus, no caller waits for the next poll of the store.
#[tokio::test(start_paused = true)]
async fn readers_on_other_nodes_learn_of_an_erasure_at_once() {
    let (shared, bus) = (SharedMemory::new(Duration::from_hours(1)), Arc::new(LocalBus::new()));
    let gate = closed();
    let with = || {
        let mut limits = Limits::default();
        limits.poll_interval = Duration::from_mins(30);
        agent(&gate).bus(Arc::clone(&bus) as _).limits(limits)
    };
    let (a, b) = (node(&shared, with).await, node(&shared, with).await);
    let task = begin(&a.engine, "go").await;
    let readers = [reads(&a.engine, &task).await, reads(&b.engine, &task).await];
    let begun = Instant::now();
    assert_eq!(a.engine.erase(&Erase::Scope(Scope::open())).await.unwrap(), 1);
    for events in readers {
        assert_eq!(within(end(events)).await, ErrorKind::TaskNotFound);
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn tasks_created_at_the_end_of_an_erasure_are_not_erased() {
    let (store, gate, ends) = (Rigged::new(), closed(), closed());
    let engine = agent(&gate).store(Arc::clone(&store) as _).build();
    let old = begin(&engine, "old").await;
    *store.erasures_wait.lock().unwrap() = Some(Arc::clone(&ends));
    let other = engine.clone();
    let erased = tokio::spawn(async move { other.erase(&Erase::Scope(Scope::open())).await });
    within(async {
        while store.inner().load(&Scope::open(), &old.id).await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let new = begin(&engine, "new").await;
    let mut events = reads(&engine, &new).await;
    ends.add_permits(1);
    assert_eq!(within(erased).await.unwrap().unwrap(), 1);
    gate.add_permits(1);
    let event = next(&mut events).await;
    assert_eq!(summary(&event), "artifact:x");
    assert_eq!(kind(subscribe(&engine, &old).await), ErrorKind::TaskNotFound);
    assert_eq!(engine.zombies(), 0);
    cancel(&engine, &new).await.unwrap();
}

#[tokio::test]
async fn a_task_loaded_during_the_erasure_of_its_context_is_deleted() {
    let (store, gate, loads) = (Rigged::new(), closed(), closed());
    let engine = agent(&gate).store(Arc::clone(&store) as _).build();
    let task = begin(&engine, "ask").await;
    quiet(&engine).await;
    *store.loads_wait.lock().unwrap() = Some(Arc::clone(&loads));
    let (other, id) = (engine.clone(), task.clone());
    let subscribed = tokio::spawn(async move { kind(subscribe(&other, &id).await) });
    within(async {
        // It has what the store had, and is not filled in.
        while engine.live_tasks() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let erase = Erase::Context(Scope::open(), task.context_id.clone().unwrap());
    assert_eq!(within(engine.erase(&erase)).await.unwrap(), 1);
    loads.add_permits(100);
    assert_eq!(within(subscribed).await.unwrap(), ErrorKind::TaskNotFound);
}
