//! Cancels.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use nuncio_engine::Limits;
use nuncio_model::{
    ErrorKind, Message, TaskState,
    op::{CancelTaskRequest, SendMessageRequest},
};
use tokio::sync::Semaphore;

use crate::support::*;

#[tokio::test]
async fn an_agent_that_observes_the_cancel_stops_at_once() {
    let engine = engine(|turn| async move {
        turn.begin().await?;
        turn.cancelled().cancelled().await;
        Ok(())
    });
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    let events = subscribe(&engine, &task).await.unwrap();
    let begun = Instant::now();
    let canceled = cancel(&engine, &task).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_state(&canceled, TaskState::Canceled);
    let seen = summaries(&rest(events).await);
    assert_eq!(seen.last().unwrap(), "canceled");
    assert_eq!(seen.iter().filter(|word| *word == "canceled").count(), 1);
}

#[tokio::test]
async fn an_agent_that_ignores_the_cancel_is_cut_off_after_the_grace_period() {
    struct Dropped(Arc<Semaphore>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.add_permits(1);
        }
    }
    let dropped = Arc::new(Semaphore::new(0));
    let seen = Arc::clone(&dropped);
    let limits = {
        let mut limits = Limits::default();
        limits.cancel_grace = Duration::from_millis(50);
        limits
    };
    let engine = builder(move |turn| {
        let guard = Dropped(Arc::clone(&dropped));
        async move {
            let _guard = guard;
            turn.begin().await?;
            std::future::pending().await
        }
    })
    .limits(limits)
    .build();
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    assert_state(&cancel(&engine, &task).await.unwrap(), TaskState::Canceled);
    assert_eq!(seen.available_permits(), 1);
}

#[tokio::test]
async fn interrupted_and_silent_tasks_are_canceled() {
    let engine = engine(|turn| async move {
        if turn.message().text() == "park" {
            turn.ask("?").await
        } else {
            turn.cancelled().cancelled().await;
            Ok(())
        }
    });
    let parked = send(&engine, SendMessageRequest::new(Message::user("park"))).await.unwrap();
    let events = subscribe(&engine, &parked).await.unwrap();
    assert_state(&cancel(&engine, &parked).await.unwrap(), TaskState::Canceled);
    assert_eq!(summaries(&rest(events).await), ["task:input-required", "canceled"]);
    let silent = send(&engine, at_once(Message::user("silent"))).await.unwrap();
    assert_state(&cancel(&engine, &silent).await.unwrap(), TaskState::Canceled);
}

#[tokio::test]
async fn an_ended_task_cannot_be_canceled() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    assert_eq!(cancel(&engine, &task).await.unwrap_err().kind(), ErrorKind::TaskNotCancelable);
    let error = call(&engine, CancelTaskRequest::new("nope")).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn a_second_cancel_is_an_error_unless_cancels_are_idempotent() {
    for (idempotent, expected) in [(false, Err(ErrorKind::TaskNotCancelable)), (true, Ok(TaskState::Canceled))] {
        let engine = builder(|turn| async move { turn.ask("?").await }).cancel_is_idempotent(idempotent).build();
        let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
        cancel(&engine, &task).await.unwrap();
        let again = cancel(&engine, &task).await;
        assert_eq!(again.map(|task| task.state()).map_err(|error| error.kind()), expected);
    }
}

#[tokio::test]
async fn a_bare_message_after_an_immediate_return_survives_a_cancel() {
    let engine = engine(|turn| async move {
        turn.cancelled().cancelled().await;
        turn.complete("finished in time").await
    });
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    let error = cancel(&engine, &task).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
    assert_state(&get(&engine, &task).await, TaskState::Completed);
}

#[tokio::test]
async fn an_error_after_a_cancel_cancels_the_task() {
    let engine = engine(|turn| async move {
        turn.begin().await?;
        turn.cancelled().cancelled().await;
        match turn.message().text().as_str() {
            "err" => Err(nuncio_engine::AgentError::new("interrupted")),
            "panic" => std::panic::resume_unwind(Box::new("a panic of the agent")),
            _ => turn.status(TaskState::Submitted, None).await,
        }
    });
    for how in ["err", "panic", "break the protocol"] {
        let task = send(&engine, at_once(Message::user(how))).await.unwrap();
        let events = subscribe(&engine, &task).await.unwrap();
        assert_state(&cancel(&engine, &task).await.unwrap(), TaskState::Canceled);
        assert_eq!(summaries(&rest(events).await).last().unwrap(), "canceled", "{how}");
    }
}

#[tokio::test]
async fn a_question_after_a_cancel_cancels_the_task() {
    let engine = engine(|turn| async move {
        turn.cancelled().cancelled().await;
        turn.ask("are you sure?").await
    });
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    assert_state(&cancel(&engine, &task).await.unwrap(), TaskState::Canceled);
    quiet(&engine).await;
}
