//! Stops of the engine at all moments.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, poll};
use nuncio_engine::{Agent, AgentError, Engine, Limits, Turn};
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{
    AgentCard, Error, ErrorKind, Message, Reply, Task, TaskId, TaskState,
    op::{ListTasksRequest, SendMessageRequest, SubscribeToTaskRequest},
};
use tokio::task::yield_now;

use crate::{rigged::Rigged, support::*};

/// Never ends, and can resume after a restart.
struct Resumes;

impl Agent for Resumes {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        if turn.message().text() != "silent" {
            turn.begin().await?;
        }
        std::future::pending().await
    }

    fn resumes(&self) -> bool {
        true
    }
}

fn resuming() -> Engine {
    let mut card = AgentCard::new("test", "Under test.");
    card.capabilities.streaming = Some(true);
    Engine::builder(Resumes).card(card).store(Rigged::new()).build()
}

/// An engine with an agent that waits without end, after an event or without one.
fn failing() -> Engine {
    let limits = {
        let mut limits = Limits::default();
        limits.first_event_timeout = Duration::from_mins(1);
        limits.first_event_timeout_streaming = Duration::from_mins(1);
        limits
    };
    builder(|turn| async move {
        match turn.message().text().as_str() {
            "silent" => std::future::pending().await,
            "ask" => turn.ask("what else?").await,
            _ => {
                turn.begin().await?;
                std::future::pending().await
            }
        }
    })
    .limits(limits)
    .build()
}

async fn tasks(engine: &Engine) -> Vec<Task> {
    match call(engine, ListTasksRequest::default()).await.unwrap() {
        Reply::Tasks(page) => page.tasks,
        other => panic!("{other:?}"),
    }
}

async fn until_running(engine: &Engine) {
    within(async {
        while engine.running() == 0 {
            yield_now().await;
        }
    })
    .await;
}

async fn stop(engine: &Engine) {
    within(engine.shutdown(Duration::ZERO)).await;
    assert_eq!(engine.running(), 0);
}

#[tokio::test]
async fn callers_of_a_turn_that_resumes_later_get_an_error() {
    for text in ["speak", "silent"] {
        let engine = resuming();
        let sent = tokio::spawn({
            let engine = engine.clone();
            async move { send(&engine, SendMessageRequest::new(Message::user(text))).await }
        });
        let streamed = stream(&engine, Message::user(text)).await.unwrap();
        until_running(&engine).await;
        stop(&engine).await;
        assert_eq!(within(sent).await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
        let seen: Vec<_> = within(streamed.collect()).await;
        assert_eq!(seen.last().unwrap().as_ref().unwrap_err().kind(), ErrorKind::Unavailable);
        quiet(&engine).await;
    }
}

/// If the message is in the store, the client must not send it again, whether its turn runs or waits. Otherwise the
/// client can.
#[tokio::test]
async fn callers_of_a_stored_task_get_its_id() {
    let engine = resuming();
    let task = send(&engine, at_once(Message::user("speak"))).await.unwrap();
    let blocking = |message| {
        let engine = engine.clone();
        tokio::spawn(async move { send(&engine, message).await.unwrap_err() })
    };
    let [first, second] = [SendMessageRequest::new(Message::user("speak")), follow(&task, "waits")].map(blocking);
    let silent = blocking(SendMessageRequest::new(Message::user("silent")));
    let list = || async { tasks(&engine).await };
    within(async {
        while list().await.len() < 2 || get(&engine, &task).await.history.len() < 2 || engine.running() < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let ids: Vec<_> = list().await.into_iter().map(|task| task.id).collect();
    stop(&engine).await;
    let told = |error: &Error| error.metadata().get("taskId").map(|id| TaskId::from(id.as_str()));
    let errors = [within(first).await.unwrap(), within(second).await.unwrap()];
    assert_eq!(told(&errors[1]), Some(task.id.clone()));
    assert!(told(&errors[0]).is_some_and(|id| id != task.id && ids.contains(&id)), "{errors:?} of {ids:?}");
    for error in errors {
        let id = told(&error).unwrap();
        assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Unavailable, Some(RETRY_AFTER)));
        assert!(error.message().contains(&format!("task {id} is stored: read it after the restart")), "{error}");
    }
    let error = within(silent).await.unwrap();
    assert_eq!((told(&error), error.message()), (None, "the server is stopping; try again later"));
    quiet(&engine).await;
}

#[tokio::test]
async fn an_agent_without_an_event_is_cut_off() {
    let engine = failing();
    let sent = tokio::spawn({
        let engine = engine.clone();
        async move { send(&engine, SendMessageRequest::new(Message::user("silent"))).await }
    });
    let streamed = tokio::spawn({
        let engine = engine.clone();
        async move { rest(stream(&engine, Message::user("silent")).await.unwrap()).await }
    });
    within(async {
        while engine.running() < 2 {
            yield_now().await;
        }
    })
    .await;
    yield_now().await;
    stop(&engine).await;
    assert_state(&within(sent).await.unwrap().unwrap(), TaskState::Failed);
    assert_eq!(summaries(&within(streamed).await.unwrap()), ["task:submitted", "failed"]);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_turn_before_its_first_poll_is_cut_off() {
    let engine = failing();
    for text in ["silent", "speak"] {
        // The runner was spawned and not polled yet.
        let mut call = Box::pin(stream(&engine, Message::user(text)));
        assert!(poll!(&mut call).is_pending());
        drop(call);
        assert!(engine.running() > 0);
    }
    stop(&engine).await;
    quiet(&engine).await;
}

#[tokio::test]
async fn readers_of_parked_tasks_are_let_go() {
    let engine = failing();
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    let mut events = subscribe(&engine, &task).await.unwrap();
    next(&mut events).await;
    stop(&engine).await;
    assert_eq!(within(events.next()).await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(within(events.next()).await.is_none());
    let late = call(&engine, SubscribeToTaskRequest::new(task.id.clone())).await.map(|_| ());
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Unavailable);
    drop(events);
    quiet(&engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_during_a_shutdown_are_all_answered() {
    for resumes in [true, false] {
        let engine = if resumes { resuming() } else { failing() };
        let task = send(&engine, at_once(Message::user("speak"))).await.unwrap();
        let sent: Vec<_> = (0..50)
            .map(|i| {
                let (engine, task) = (engine.clone(), task.clone());
                tokio::spawn(async move {
                    for _ in 0..i {
                        yield_now().await;
                    }
                    let message = if i % 2 == 0 { follow(&task, "y") } else { at_once(Message::user("y")) };
                    drop(send(&engine, message).await);
                })
            })
            .collect();
        yield_now().await;
        stop(&engine).await;
        for sent in sent {
            within(sent).await.unwrap();
        }
        quiet(&engine).await;
    }
}

#[tokio::test]
async fn a_task_that_ends_during_a_shutdown_reports_its_end() {
    let engine = builder(|turn| async move {
        turn.begin().await?;
        turn.cancelled().cancelled().await;
        turn.complete("in time").await
    })
    .store(Arc::clone(&Rigged::new()) as _)
    .build();
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    let events = subscribe(&engine, &task).await.unwrap();
    let canceled = tokio::spawn({
        let (engine, task) = (engine.clone(), task.clone());
        async move { cancel(&engine, &task).await }
    });
    within(engine.shutdown(Duration::from_secs(10))).await;
    within(canceled).await.unwrap().unwrap_err();
    assert!(["completed", "failed"].contains(&summaries(&rest(events).await).last().unwrap().as_str()));
}

/// A message without a certain turn is not accepted.
#[tokio::test]
async fn a_task_at_work_takes_no_message_while_the_engine_stops_but_a_cancel() {
    let engine = failing();
    let task = send(&engine, at_once(Message::user("speak"))).await.unwrap();
    let stopped = tokio::spawn({
        let engine = engine.clone();
        async move { engine.shutdown(Duration::from_mins(1)).await }
    });
    let refused = |request| {
        let engine = &engine;
        async move { send(engine, request).await.unwrap_err() }
    };
    yield_now().await;
    let begins = refused(at_once(Message::user("speak"))).await;
    let goes_on = refused(at_once(follow(&task, "more").message)).await;
    assert_eq!((goes_on.kind(), goes_on.message()), (begins.kind(), begins.message()));
    assert_eq!(goes_on.kind(), ErrorKind::Unavailable);
    assert_eq!(history(&get(&engine, &task).await), ["speak"]);
    assert_state(&cancel(&engine, &task).await.unwrap(), TaskState::Canceled);
    within(stopped).await.unwrap();
}
