//! Dropped futures of calls, after every possible number of polls. The task stays usable. A reader keeps the task
//! in memory, so that the task is not loaded again from the store.

use std::{future::Future, pin::pin, sync::Arc};

use futures_util::poll;
use nuncio_engine::{AgentError, Engine, Turn};
use nuncio_model::{
    Call, ErrorKind, Message, Reply, Request, Scope, Task, TaskState,
    op::{
        CancelTaskRequest, ListTasksRequest, SendMessageRequest, SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};
use tokio::task::yield_now;

use crate::{rigged::Rigged, support::*};

/// Polls a future at most this number of times, then drops it. Returns whether the future was done.
async fn dropped_after(polls: usize, future: impl Future) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        if poll!(future.as_mut()).is_ready() {
            return true;
        }
        yield_now().await;
    }
    false
}

async fn asks(turn: Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    yield_now().await;
    turn.artifact("out").finish(turn.message().text()).await?;
    turn.ask("what else?").await
}

fn engine_over_a_slow_store() -> Engine {
    builder(asks).store(Rigged::new()).build()
}

async fn parked(engine: &Engine) -> Task {
    let task = send(engine, SendMessageRequest::new(Message::user("one"))).await.unwrap();
    assert_state(&task, TaskState::InputRequired);
    task
}

fn request(call: impl Into<Call>) -> Request {
    Request::new(Scope::open(), call)
}

#[tokio::test]
async fn a_first_message_may_be_dropped_at_any_moment() {
    let engine = engine_over_a_slow_store();
    let mut polls = 0;
    while !dropped_after(polls, engine.call(request(SendMessageRequest::new(Message::user("one"))))).await {
        quiet(&engine).await;
        polls += 1;
    }
    let Reply::Tasks(page) = call(&engine, ListTasksRequest::default()).await.unwrap() else { panic!() };
    assert!(page.tasks.iter().all(|task| task.state() == TaskState::InputRequired));
    // Only a call that was never polled left no task.
    assert_eq!(page.tasks.len(), polls);
}

#[tokio::test]
async fn a_follow_up_may_be_dropped_at_any_moment() {
    let engine = engine_over_a_slow_store();
    for polls in 0.. {
        let task = parked(&engine).await;
        let watched = subscribe(&engine, &task).await;
        let done = dropped_after(polls, engine.call(request(follow(&task, "dropped")))).await;
        let task = send(&engine, follow(&task, "last")).await.unwrap();
        assert_state(&task, TaskState::InputRequired);
        drop(watched);
        quiet(&engine).await;
        if done {
            return;
        }
    }
}

#[tokio::test]
async fn a_stream_may_be_dropped_at_any_moment() {
    let engine = engine_over_a_slow_store();
    for polls in 0.. {
        let task = parked(&engine).await;
        let watched = subscribe(&engine, &task).await;
        let streaming = async {
            let Reply::Events(events) =
                engine.call(request(SendStreamingMessageRequest(follow(&task, "dropped")))).await.unwrap()
            else {
                panic!()
            };
            rest(events).await
        };
        let done = dropped_after(polls, streaming).await;
        assert_state(&send(&engine, follow(&task, "last")).await.unwrap(), TaskState::InputRequired);
        drop(watched);
        quiet(&engine).await;
        if done {
            return;
        }
    }
}

#[tokio::test]
async fn a_cancel_may_be_dropped_at_any_moment() {
    let engine = engine_over_a_slow_store();
    for polls in 0.. {
        let task = parked(&engine).await;
        let watched = subscribe(&engine, &task).await;
        let done = dropped_after(polls, engine.call(request(CancelTaskRequest::new(task.id.clone())))).await;
        match cancel(&engine, &task).await {
            Ok(task) => assert_state(&task, TaskState::Canceled),
            Err(error) => assert_eq!(error.kind(), ErrorKind::TaskNotCancelable),
        }
        drop(watched);
        quiet(&engine).await;
        if done {
            return;
        }
    }
}

#[tokio::test]
async fn a_subscription_may_be_dropped_at_any_moment() {
    let engine = engine_over_a_slow_store();
    for polls in 0.. {
        let task = parked(&engine).await;
        let subscribing = engine.call(request(SubscribeToTaskRequest::new(task.id.clone())));
        let done = dropped_after(polls, subscribing).await;
        quiet(&engine).await;
        if done {
            return;
        }
    }
}

#[tokio::test]
async fn recovery_may_be_dropped_at_any_moment() {
    for polls in 0.. {
        let store = Rigged::new();
        let orphans = [store.orphan("a").await, store.orphan("b").await];
        let engine = builder(asks).store(Arc::clone(&store) as _).build();
        *store.orphans.lock().unwrap() = orphans.to_vec();
        let watched = subscribe(&engine, &Task { id: "a".into(), ..Task::default() }).await;
        let done = dropped_after(polls, engine.recover()).await;
        *store.orphans.lock().unwrap() = orphans.to_vec();
        within(engine.recover()).await.unwrap();
        drop(watched);
        quiet(&engine).await;
        for orphan in &orphans {
            let task = Task { id: orphan.id.clone(), ..Task::default() };
            assert_state(&get(&engine, &task).await, TaskState::Failed);
        }
        if done {
            return;
        }
    }
}
