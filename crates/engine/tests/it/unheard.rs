//! Records that the store has, while the writer does not know yet. Other callers may have read them from the store, so
//! no caller may get an older state.

use std::{future::pending, sync::Arc, time::Duration};

use nuncio_engine::{TaskStore as _, store::ListQuery};
use nuncio_model::{Message, Scope, StreamResponse, Task, TaskState, op::SendMessageRequest};
use tokio::{sync::Semaphore, task::yield_now, time::sleep};

use crate::{
    cluster::{Nodes, begin},
    rigged::Rigged,
    support::*,
};

/// The only task of the store, as soon as it exists.
async fn stored(store: &Rigged) -> Task {
    let query = ListQuery { page_size: 1, ..ListQuery::default() };
    within(async {
        loop {
            if let Some(task) = store.inner().list(&Scope::open(), &query).await.unwrap().tasks.pop() {
                return Arc::unwrap_or_clone(task);
            }
            yield_now().await;
        }
    })
    .await
}

fn close(store: &Rigged) -> Arc<Semaphore> {
    let gate = Arc::new(Semaphore::new(0));
    *store.answers_wait.lock().unwrap() = Some(Arc::clone(&gate));
    gate
}

#[tokio::test]
async fn a_task_visible_in_the_store_is_found() {
    let store = Rigged::new();
    let gate = close(&store);
    let agent = |turn: nuncio_engine::Turn| async move {
        turn.begin().await?;
        pending().await
    };
    let engine = builder(agent).store(Arc::clone(&store) as _).build();
    let sender = engine.clone();
    let sent = tokio::spawn(async move { send(&sender, SendMessageRequest::new(Message::user("work"))).await });
    let task = stored(&store).await;
    let (engine, seen) = (&engine, &task);
    let canceled = tokio::spawn({
        let (engine, task) = (engine.clone(), seen.clone());
        async move { cancel(&engine, &task).await }
    });
    let read = tokio::spawn({
        let (engine, task) = (engine.clone(), seen.clone());
        async move { subscribe(&engine, &task).await.map(rest) }
    });
    for _ in 0..50 {
        yield_now().await;
    }
    assert!(!canceled.is_finished() && !read.is_finished(), "they wait for what they have seen");
    gate.add_permits(Semaphore::MAX_PERMITS);
    assert_state(&within(canceled).await.unwrap().unwrap(), TaskState::Canceled);
    assert_state(&within(sent).await.unwrap().unwrap(), TaskState::Canceled);
    let events = within(read).await.unwrap().unwrap().await;
    let sequences: Vec<_> = events.iter().filter_map(|event| event.sequence).collect();
    assert!(sequences.is_sorted_by(|one, other| one < other), "{sequences:?}");
    assert_eq!(events.last().map(|event| summary(event)).as_deref(), Some("canceled"));
}

#[tokio::test]
async fn a_task_before_its_commit_is_not_found() {
    let store = Rigged::new();
    let gate = Arc::new(Semaphore::new(0));
    *store.queue.lock().unwrap() = Some(Arc::clone(&gate));
    let ids = Arc::new(std::sync::Mutex::new(None));
    let told = Arc::clone(&ids);
    let agent = move |turn: nuncio_engine::Turn| {
        *told.lock().unwrap() = Some(turn.task_id().clone());
        async move { turn.begin().await }
    };
    let engine = builder(agent).store(Arc::clone(&store) as _).build();
    let sender = engine.clone();
    let sent = tokio::spawn(async move { send(&sender, SendMessageRequest::new(Message::user("work"))).await });
    let id = within(async {
        loop {
            if let Some(id) = ids.lock().unwrap().clone() {
                return id;
            }
            yield_now().await;
        }
    })
    .await;
    let task = Task::new(id, "context".into());
    assert_eq!(cancel(&engine, &task).await.unwrap_err().kind(), nuncio_model::ErrorKind::TaskNotFound);
    gate.add_permits(Semaphore::MAX_PERMITS);
    assert_state(&within(sent).await.unwrap().unwrap(), TaskState::Completed);
}

#[tokio::test]
async fn a_state_visible_in_the_store_is_read() {
    let store = Rigged::new();
    let go = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&go);
    let agent = move |turn: nuncio_engine::Turn| {
        let go = Arc::clone(&waits);
        async move {
            turn.begin().await?;
            go.acquire().await?.forget();
            Ok(())
        }
    };
    let engine = builder(agent).store(Arc::clone(&store) as _).build();
    let task = send(&engine, at_once(Message::user("work"))).await.unwrap();
    assert!(!get(&engine, &task).await.state().is_terminal());
    let gate = close(&store);
    go.add_permits(1);
    within(async {
        while !stored(&store).await.state().is_terminal() {
            yield_now().await;
        }
    })
    .await;
    assert_state(&get(&engine, &task).await, TaskState::Completed);
    gate.add_permits(Semaphore::MAX_PERMITS);
    quiet(&engine).await;
    assert_state(&get(&engine, &task).await, TaskState::Completed);
}

/// The event ids of a stream, up to its end.
async fn sequences(events: nuncio_model::EventStream) -> Vec<u64> {
    rest(events).await.iter().filter_map(|event| event.sequence).collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_read_before_its_acknowledgement_is_sent_once() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    a.store.set(|faults| faults.hears_of_commits_late = true);
    let (one, two) = (a.engine.clone(), a.engine.clone());
    let sent = tokio::spawn(async move { stream(&one, Message::user("word")).await.unwrap() });
    let query = ListQuery { page_size: 1, ..ListQuery::default() };
    let task = within(async {
        loop {
            if let Some(task) = b.store.list(&Scope::open(), &query).await.unwrap().tasks.pop() {
                return Arc::unwrap_or_clone(task);
            }
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let read = tokio::spawn(async move { subscribe(&two, &task).await.unwrap() });
    sleep(Duration::from_millis(100)).await;
    a.store.set(|faults| faults.hears_of_commits_late = false);
    sleep(Duration::from_millis(100)).await;
    nodes.open(1);
    for stream in [sent, read] {
        let sequences = sequences(within(stream).await.unwrap()).await;
        assert!(sequences.is_sorted_by(|one, other| one < other), "{sequences:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_during_the_load_of_a_task_is_not_lost() {
    let nodes = Nodes::new();
    let (a, b) = nodes.two().await;
    let task = begin(&a, "word more").await;
    b.store.set(|faults| faults.hears_of_tasks_late = true);
    let (reader, read) = (b.engine.clone(), task.clone());
    let read = tokio::spawn(async move { next(&mut subscribe(&reader, &read).await.unwrap()).await });
    sleep(Duration::from_millis(100)).await;
    nodes.open(1);
    sleep(Duration::from_millis(100)).await;
    assert_eq!(get(&a.engine, &task).await.artifacts[0].text(), "word");
    b.store.set(|faults| faults.hears_of_tasks_late = false);
    match &within(read).await.unwrap().response {
        StreamResponse::Task(task) => assert_eq!(task.artifacts[0].text(), "word"),
        other => panic!("not a task: {other:?}"),
    }
}
