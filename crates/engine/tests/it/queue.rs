//! Messages that wait for their turn.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{AgentError, Engine, Idempotency, Limits, Turn};
use nuncio_model::{ErrorKind, Message, Task, TaskState, op::SendMessageRequest};
use tokio::sync::Semaphore;

use crate::support::*;

/// An engine with a first turn that waits for the gate. The test defines the rest of each turn.
fn gated<F, R>(limits: Limits, run: F) -> (Engine, Arc<Semaphore>)
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), AgentError>> + Send + 'static,
{
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let run = Arc::new(run);
    let engine = builder(move |turn| {
        let (gate, run) = (Arc::clone(&gate), Arc::clone(&run));
        async move {
            if turn.task().is_none() {
                turn.begin().await?;
                gate.acquire().await?.forget();
            }
            run(turn).await
        }
    })
    .limits(limits)
    .build();
    (engine, opened)
}

fn follow_at_once(task: &Task, text: &str) -> SendMessageRequest {
    at_once(follow(task, text).message)
}

#[tokio::test]
async fn the_number_of_waiting_messages_is_limited() {
    let limits = {
        let mut limits = Limits::default();
        limits.queued_messages = 3;
        limits
    };
    let (engine, gate) = gated(limits, |turn| async move { turn.ask(turn.message().text()).await });
    let task = send(&engine, at_once(Message::user("start"))).await.unwrap();
    for i in 0..3 {
        send(&engine, follow_at_once(&task, &i.to_string())).await.unwrap();
    }
    let error = send(&engine, follow_at_once(&task, "too many")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    gate.add_permits(1);
    quiet(&engine).await;
    let task = send(&engine, follow(&task, "last")).await.unwrap();
    assert_eq!(history(&task), ["start", "0", "1", "2", "start", "0", "1", "2", "last"]);
}

/// Oversized messages and duplicates do not wait, and do not block other messages.
#[tokio::test]
async fn refused_messages_do_not_count_as_waiting() {
    let limits = {
        let mut limits = Limits::default();
        (limits.queued_messages, limits.task_size) = (3, 10_000);
        limits
    };
    let large = "x".repeat(6_000);
    let gate = Arc::new(Semaphore::new(0));
    let engine = builder({
        let gate = Arc::clone(&gate);
        move |turn| {
            let gate = Arc::clone(&gate);
            async move {
                turn.begin().await?;
                gate.acquire().await?.forget();
                turn.ask("what else?").await
            }
        }
    });
    let engine = engine.limits(limits).idempotency(Idempotency::Within(Duration::from_mins(1))).build();
    let task = send(&engine, at_once(Message::user(large.as_str()))).await.unwrap();
    let other = send(&engine, at_once(Message::user("other"))).await.unwrap();
    let again = |task: &Task| {
        let mut request = follow_at_once(task, "again");
        request.message.message_id = "again".into();
        request
    };
    send(&engine, again(&other)).await.unwrap();
    for _ in 0..4 {
        let refused = send(&engine, follow_at_once(&task, &large)).await.unwrap_err();
        assert_ne!(refused.metadata().get("limit").map(|it| &**it), Some("queued_messages"), "{refused:?}");
        send(&engine, again(&task)).await.unwrap_err();
    }
    for _ in 0..3 {
        send(&engine, follow_at_once(&task, "more")).await.unwrap();
    }
    let full = send(&engine, follow_at_once(&task, "too many")).await.unwrap_err();
    assert_eq!(full.metadata()["limit"], "queued_messages");
    gate.add_permits(6);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_waiting_turn_begins_with_a_working_task() {
    let (engine, gate) = gated(Limits::default(), |turn| async move {
        if turn.task().is_none() { turn.ask("what else?").await } else { turn.artifact("out").finish("x").await }
    });
    let task = send(&engine, at_once(Message::user("start"))).await.unwrap();
    let events = subscribe(&engine, &task).await.unwrap();
    let waiting = tokio::spawn({
        let (engine, request) = (engine.clone(), follow(&task, "second"));
        async move { send(&engine, request).await }
    });
    // The message is in the log before the first turn ends.
    while get(&engine, &task).await.history.len() < 2 {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1);
    // The turn sets no status, so the task completes and does not wait for the client.
    assert_state(&within(waiting).await.unwrap().unwrap(), TaskState::Completed);
    assert_eq!(
        summaries(&rest(events).await),
        ["task:working", "input-required", "working", "artifact:x", "completed"]
    );
}

#[tokio::test]
async fn a_caller_is_answered_at_the_end_of_its_own_turn() {
    let (engine, gate) = gated(Limits::default(), |turn| async move {
        if turn.message().text() == "endless" {
            turn.begin().await?;
            std::future::pending::<()>().await;
        }
        turn.ask(format!("re {}", turn.message().text())).await
    });
    let first = tokio::spawn({
        let engine = engine.clone();
        let message = Message::user("start").with_context_id("c");
        async move { send(&engine, SendMessageRequest::new(message)).await }
    });
    let task = loop {
        let query = nuncio_model::op::ListTasksRequest::default();
        let nuncio_model::Reply::Tasks(page) = call(&engine, query).await.unwrap() else { panic!() };
        match page.tasks.into_iter().next() {
            Some(task) => break task,
            None => tokio::task::yield_now().await,
        }
    };
    let second = tokio::spawn({
        let (engine, request) = (engine.clone(), follow(&task, "second"));
        async move { send(&engine, request).await }
    });
    while get(&engine, &task).await.history.len() < 2 {
        tokio::task::yield_now().await;
    }
    let behind = send(&engine, follow_at_once(&task, "endless")).await.unwrap();
    assert_eq!(history(&behind), ["start", "second", "endless"]);
    gate.add_permits(1);
    for (waiting, answer) in [(first, "re start"), (second, "re second")] {
        let task = within(waiting).await.unwrap().unwrap();
        assert_state(&task, TaskState::InputRequired);
        assert_eq!(task.status.message.unwrap().text(), answer);
    }
    cancel(&engine, &task).await.unwrap();
}

#[tokio::test]
async fn a_stream_ends_when_its_own_turn_rests() {
    let (engine, gate) =
        gated(Limits::default(), |turn| async move { turn.ask(format!("re {}", turn.message().text())).await });
    let task = send(&engine, at_once(Message::user("start"))).await.unwrap();
    let second = stream(&engine, follow(&task, "second").message).await.unwrap();
    let third = stream(&engine, follow(&task, "third").message).await.unwrap();
    gate.add_permits(1);
    let (second, third) = (rest(second).await, rest(third).await);
    assert_eq!(summaries(&second), ["task:working", "input-required", "working", "input-required"]);
    assert_eq!(summaries(&third)[1..], ["input-required", "working", "input-required", "working", "input-required"]);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_follow_up_can_return_immediately() {
    let engine = engine(|turn| async move {
        if turn.task().is_none() {
            return turn.ask("what else?").await;
        }
        std::future::pending().await
    });
    let task = send(&engine, SendMessageRequest::new(Message::user("start"))).await.unwrap();
    let task = send(&engine, follow_at_once(&task, "more")).await.unwrap();
    assert_state(&task, TaskState::Working);
    assert_eq!(history(&task), ["start", "what else?", "more"]);
    cancel(&engine, &task).await.unwrap();
}
