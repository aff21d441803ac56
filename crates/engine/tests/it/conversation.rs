//! Several messages for one task.

use std::sync::Arc;

use futures_util::future::join_all;
use nuncio_engine::Limits;
use nuncio_model::{ErrorKind, Message, TaskState, op::SendMessageRequest};
use tokio::sync::Semaphore;

use crate::support::*;

#[tokio::test]
async fn an_answer_goes_on_with_the_task_and_its_context() {
    let engine = engine(|turn| async move {
        let text = turn.message().text();
        match turn.task() {
            None => turn.ask("what else?").await,
            Some(task) => turn.complete(format!("{text} after {}", task.history.len())).await,
        }
    });
    let first = send(&engine, SendMessageRequest::new(Message::user("one"))).await.unwrap();
    assert_state(&first, TaskState::InputRequired);
    let second = send(&engine, follow(&first, "two")).await.unwrap();
    assert_state(&second, TaskState::Completed);
    assert_eq!((&second.id, &second.context_id), (&first.id, &first.context_id));
    assert_eq!(history(&second), ["one", "what else?", "two"]);
    assert_eq!(second.status.message.unwrap().text(), "two after 3");
}

#[tokio::test]
async fn another_context_is_refused_and_leaves_the_task_alone() {
    let engine = engine(|turn| async move { turn.ask("?").await });
    let task = send(&engine, SendMessageRequest::new(Message::user("one"))).await.unwrap();
    let mut request = follow(&task, "two");
    request.message.context_id = Some("elsewhere".into());
    let error = send(&engine, request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(error.field_violations()[0].field, "message.contextId");
    assert_eq!(get(&engine, &task).await, task);
}

#[tokio::test]
async fn unknown_and_ended_tasks_take_no_messages() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let message = Message::user("x").with_task_id("nope");
    let error = send(&engine, SendMessageRequest::new(message.clone())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    assert_eq!(stream(&engine, message).await.map(|_| ()).unwrap_err().kind(), ErrorKind::TaskNotFound);
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let error = send(&engine, follow(&task, "y")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    let error = stream(&engine, follow(&task, "y").message).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn a_message_for_a_running_task_waits_for_its_turn() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let running = Arc::new(Semaphore::new(1));
    let engine = engine(move |turn| {
        let (gate, running) = (Arc::clone(&gate), Arc::clone(&running));
        async move {
            let _alone = running.try_acquire().expect("two turns of a task at once");
            turn.begin().await?;
            gate.acquire().await?.forget();
            turn.ask(format!("after {}", turn.message().text())).await
        }
    });
    let task = send(&engine, at_once(Message::user("one"))).await.unwrap();
    let mut second = follow(&task, "two");
    second.configuration = at_once(Message::user("")).configuration;
    let accepted = send(&engine, second).await.unwrap();
    assert_eq!(history(&accepted), ["one", "two"]);
    let third = {
        let engine = engine.clone();
        let request = follow(&task, "three");
        tokio::spawn(async move { send(&engine, request).await })
    };
    opened.add_permits(3);
    let done = third.await.unwrap().unwrap();
    assert_state(&done, TaskState::InputRequired);
    assert_eq!(done.status.message.as_ref().unwrap().text(), "after three");
    let texts = history(&done);
    for text in ["one", "two", "three", "after one", "after two"] {
        assert!(texts.iter().any(|line| line == text), "{text} in {texts:?}");
    }
}

#[tokio::test]
async fn a_message_without_a_turn_before_the_end_of_its_task_is_an_error() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = engine(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            turn.begin().await?;
            gate.acquire().await?.forget();
            turn.complete("done").await
        }
    });
    let task = send(&engine, at_once(Message::user("one"))).await.unwrap();
    let mut second = follow(&task, "two");
    second.configuration = at_once(Message::user("")).configuration;
    send(&engine, second).await.unwrap();
    let third = {
        let engine = engine.clone();
        let request = follow(&task, "three");
        tokio::spawn(async move { send(&engine, request).await })
    };
    tokio::task::yield_now().await;
    opened.add_permits(1);
    assert_eq!(third.await.unwrap().unwrap_err().kind(), ErrorKind::UnsupportedOperation);
    assert_state(&get(&engine, &task).await, TaskState::Completed);
}

#[tokio::test]
async fn too_many_waiting_messages_are_refused() {
    let limits = {
        let mut limits = Limits::default();
        limits.running_turns = 1;
        limits
    };
    let engine = builder(|_turn| std::future::pending()).limits(limits).build();
    send(&engine, at_once(Message::user("one"))).await.unwrap();
    let error = send(&engine, at_once(Message::user("two"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    assert!(error.retry_after().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_messages_at_once_all_get_their_turn() {
    let engine = engine(|turn| async move {
        tokio::task::yield_now().await;
        turn.ask(format!("re {}", turn.message().text())).await
    });
    let task = send(&engine, SendMessageRequest::new(Message::user("start"))).await.unwrap();
    let sent = join_all((0..50).map(|i| {
        let engine = engine.clone();
        let request = follow(&task, &format!("m{i}"));
        tokio::spawn(async move { send(&engine, request).await })
    }))
    .await;
    for outcome in sent {
        assert_state(&outcome.unwrap().unwrap(), TaskState::InputRequired);
    }
    let task = get(&engine, &task).await;
    let mut texts = history(&task);
    texts.extend(task.status.message.map(|message| message.text()));
    for i in 0..50 {
        for text in [format!("m{i}"), format!("re m{i}")] {
            assert_eq!(texts.iter().filter(|line| **line == text).count(), 1, "{text}");
        }
    }
    assert_eq!(engine.running(), 0);
}

#[tokio::test]
async fn an_agent_sees_the_earlier_tasks_of_its_context() {
    let engine = engine(|turn| async move {
        let earlier = turn.context().await?.len();
        turn.complete(earlier.to_string()).await
    });
    for count in 0..3 {
        let message = Message::user("x").with_context_id("shared");
        let task = send(&engine, SendMessageRequest::new(message)).await.unwrap();
        assert_eq!(task.status.message.unwrap().text(), count.to_string());
    }
}
