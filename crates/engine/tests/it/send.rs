//! Sends messages and waits for the outcome.

use std::time::{Duration, Instant};

use nuncio_model::{
    Artifact, ErrorKind, Message, Part, Reply, Request, Role, TaskState,
    op::{GetTaskRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest},
};
use serde_json::json;
use tokio::time::sleep;

use crate::support::*;

#[tokio::test]
async fn a_blocking_send_returns_the_task_with_all_results() {
    let engine = engine(|turn| async move {
        turn.begin().await?;
        turn.add_artifact(Artifact::new("a", vec![Part::text(turn.message().text())])).await?;
        turn.complete("done").await
    });
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
    assert_eq!(task.artifacts[0].text(), "hi");
    assert_eq!(history(&task), ["hi"]);
    let closing = task.status.message.clone().unwrap();
    assert_eq!((closing.text(), closing.role), ("done".to_owned(), Role::Agent));
    assert_eq!(closing.task_id.as_ref(), Some(&task.id));
    assert_eq!(closing.context_id, task.context_id);
    assert!(task.context_id.as_ref().is_some_and(|id| !id.is_empty()));
    assert_eq!(get(&engine, &task).await, task);
    assert_eq!(engine.running(), 0);
}

#[tokio::test]
async fn a_turn_without_an_event_completes_the_task() {
    let engine = engine(|_turn| async { Ok(()) });
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
}

#[tokio::test]
async fn a_bare_message_leaves_no_task_behind() {
    let engine = engine(|turn| async move {
        sleep(Duration::from_millis(20)).await;
        turn.reply("direct").await
    });
    let reply = call(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    let Reply::Message(message) = reply else { panic!("{reply:?}") };
    assert_eq!(message.text(), "direct");
    assert!(message.context_id.is_some());
    assert_eq!(message.task_id, None);
    let Reply::Tasks(page) = call(&engine, ListTasksRequest::default()).await.unwrap() else { panic!() };
    assert_eq!((page.tasks.len(), page.total_size), (0, 0));
}

#[tokio::test]
async fn the_context_of_the_client_is_stored_verbatim() {
    let engine = engine(|turn| async move { turn.complete("ok").await });
    let message = Message::user("hi").with_context_id("my context ✓");
    let task = send(&engine, SendMessageRequest::new(message)).await.unwrap();
    assert_eq!(task.context_id.unwrap(), "my context ✓");
}

#[tokio::test]
async fn returning_immediately_does_not_wait_for_a_silent_agent() {
    let engine = engine(|turn| async move {
        sleep(Duration::from_millis(300)).await;
        turn.complete("late").await
    });
    let begun = Instant::now();
    let task = send(&engine, at_once(Message::user("hi"))).await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
    assert_state(&task, TaskState::Submitted);
    let events = rest(subscribe(&engine, &task).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:submitted", "completed"]);
}

#[tokio::test]
async fn a_bare_message_after_the_client_was_given_a_task_completes_it() {
    let engine = engine(|turn| async move {
        sleep(Duration::from_millis(20)).await;
        turn.reply("direct").await
    });
    let task = send(&engine, at_once(Message::user("hi"))).await.unwrap();
    let events = rest(subscribe(&engine, &task).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:submitted", "completed"]);
    assert_eq!(get(&engine, &task).await.status.message.unwrap().text(), "direct");
}

#[tokio::test]
async fn a_disconnected_caller_does_not_change_the_task() {
    let engine = engine(|turn| async move {
        turn.begin().await?;
        sleep(Duration::from_millis(50)).await;
        turn.complete("done").await
    });
    let request = Request::new(nuncio_model::Scope::open(), SendMessageRequest::new(Message::user("hi")));
    tokio::time::timeout(Duration::from_millis(10), engine.call(request)).await.unwrap_err();
    let Reply::Tasks(page) = call(&engine, ListTasksRequest::default()).await.unwrap() else { panic!() };
    let task = &page.tasks[0];
    assert_state(task, TaskState::Working);
    let events = rest(subscribe(&engine, task).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:working", "completed"]);
}

#[tokio::test]
async fn auth_required_answers_at_once_while_the_turn_goes_on() {
    let engine = engine(|turn| async move {
        turn.require_auth("sign in").await?;
        sleep(Duration::from_millis(50)).await;
        turn.complete("thanks").await
    });
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    assert_state(&task, TaskState::AuthRequired);
    let events = rest(subscribe(&engine, &task).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:auth-required", "completed"]);
}

#[tokio::test]
async fn the_history_has_the_requested_length() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let configuration = SendMessageConfiguration { history_length: Some(0), ..Default::default() };
    let request = SendMessageRequest::new(Message::user("hi")).with_configuration(configuration);
    let task = send(&engine, request).await.unwrap();
    assert!(task.history.is_empty());
    let get = GetTaskRequest { history_length: Some(1), ..GetTaskRequest::new(task.id.clone()) };
    let Reply::Task(task) = call(&engine, get).await.unwrap() else { panic!() };
    assert_eq!(history(&task), ["hi"]);
}

#[tokio::test]
async fn a_media_type_outside_of_the_card_is_refused() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let message = Message::user(Part::raw([1]).with_media_type("image/png"));
    let error = send(&engine, SendMessageRequest::new(message)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported);
    assert!(error.message().contains("image/png"));
}

/// AG2 adds its history to the second message of a conversation in this way.
#[tokio::test]
async fn data_of_a_vendor_beside_a_text_is_no_reason_to_refuse() {
    let engine = engine(|turn| async move { turn.complete(turn.message().text()).await });
    let history = Part::data(json!({"events": []})).with_media_type("application/vnd.ag2.history+json");
    let send = async |parts: Vec<Part>| send(&engine, SendMessageRequest::new(Message::new(Role::User, parts))).await;
    let task = send(vec![Part::text("hi"), history.clone()]).await.unwrap();
    assert_eq!(task.status.message.unwrap().text(), "hi");
    let file = Part::raw([1]).with_media_type("application/vnd.ms-excel");
    let table = Part::data(json!({})).with_media_type("application/json");
    for parts in [vec![history.clone()], vec![Part::text("hi"), file], vec![Part::text("hi"), table]] {
        assert_eq!(send(parts).await.unwrap_err().kind(), ErrorKind::ContentTypeNotSupported);
    }
}

#[tokio::test]
async fn a_foreign_task_looks_like_a_missing_one() {
    let engine = engine(|turn| async move { turn.ask("what else?").await });
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    let foreign = engine.call(Request::new(other_scope(), GetTaskRequest::new(task.id.clone()))).await.unwrap_err();
    let missing = engine.call(Request::new(other_scope(), GetTaskRequest::new("nope"))).await.unwrap_err();
    assert_eq!(foreign.kind(), missing.kind());
    assert_eq!(foreign.message().replace(task.id.as_str(), "nope"), missing.message());
    let message = Message::user("again").with_task_id(task.id.clone());
    let sent = engine.call(Request::new(other_scope(), SendMessageRequest::new(message))).await.unwrap_err();
    assert_eq!(sent.kind(), ErrorKind::TaskNotFound);
    assert_state(&get(&engine, &task).await, TaskState::InputRequired);
}
