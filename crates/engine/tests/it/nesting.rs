//! The depth of nested data and metadata of requests and agents.

use nuncio_engine::Limits;
use nuncio_model::{
    Artifact, Call, ErrorKind, Message, Part, Reply, StreamResponse, Struct, TaskArtifactUpdateEvent, TaskId,
    TaskState, TaskStatus, TaskStatusUpdateEvent, Value,
    op::{CancelTaskRequest, SendMessageRequest, SendStreamingMessageRequest},
};
use serde_json::json;

use crate::support::*;

/// A value with this number of nested lists and objects.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("x"), |inner, level| if level % 2 == 0 { json!([1, inner]) } else { json!({"k": inner}) })
}

fn members(levels: usize) -> Struct {
    [("k".to_owned(), nested(levels - 1))].into_iter().collect()
}

/// A message with all fields that can nest.
fn message(levels: usize) -> Message {
    let part = Part::data(nested(levels)).with_metadata(members(levels));
    Message { parts: vec![Part::text("x"), part], ..Message::user("x") }.with_metadata(members(levels))
}

#[tokio::test]
async fn a_call_with_deep_nesting_is_refused_with_its_fields() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let request = |levels| SendMessageRequest {
        metadata: Some(Box::new(members(levels))),
        ..SendMessageRequest::new(message(levels))
    };
    let of_message = ["message.parts[1].data", "message.parts[1].metadata", "message.metadata", "metadata"];
    let cancel =
        CancelTaskRequest { metadata: Some(Box::new(members(31))), ..CancelTaskRequest::new(TaskId::from("t")) };
    for (deep, fields) in [
        (Call::from(request(31)), &of_message[..]),
        (SendStreamingMessageRequest(request(31)).into(), &of_message),
        (request(100).into(), &of_message),
        (cancel.into(), &["metadata"]),
    ] {
        let error = call(&engine, deep).await.expect_err("it is refused");
        assert_eq!(error.kind(), ErrorKind::InvalidParams);
        assert_eq!(error.field_violations().iter().map(|it| &*it.field).collect::<Vec<_>>(), fields);
        assert_eq!(error.field_violations()[0].description, "nests deeper than 30 levels of lists and objects");
    }
    let task = send(&engine, request(30)).await.unwrap();
    assert_eq!((task.state(), &task.history[0].parts), (TaskState::Completed, &message(30).parts));
}

/// All events of an agent, with all fields that can nest.
fn replies(levels: usize) -> Vec<(&'static str, StreamResponse)> {
    let metadata = || Some(Box::new(members(levels)));
    let artifact = |artifact| TaskArtifactUpdateEvent { artifact, ..Default::default() };
    let status = |message: Option<Message>| TaskStatusUpdateEvent {
        status: TaskStatus { state: TaskState::Working, message: message.map(Box::new), timestamp: None },
        ..Default::default()
    };
    let parts = |part| Message { parts: vec![part], ..Message::agent("x") };
    let data = || Part::data(nested(levels));
    let marked = || Part::text("x").with_metadata(members(levels));
    vec![
        ("artifact.parts[0].data", StreamResponse::ArtifactUpdate(artifact(Artifact::new("a", vec![data()])))),
        ("artifact.parts[0].metadata", StreamResponse::ArtifactUpdate(artifact(Artifact::new("a", vec![marked()])))),
        (
            "artifact.metadata",
            StreamResponse::ArtifactUpdate(artifact(Artifact {
                metadata: metadata(),
                ..Artifact::new("a", vec![Part::text("x")])
            })),
        ),
        (
            "metadata",
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                metadata: metadata(),
                ..artifact(Artifact::new("a", vec![Part::text("x")]))
            }),
        ),
        ("status.message.parts[0].data", StreamResponse::StatusUpdate(status(Some(parts(data()))))),
        ("status.message.metadata", StreamResponse::StatusUpdate(status(Some(message_of(metadata()))))),
        ("metadata", StreamResponse::StatusUpdate(TaskStatusUpdateEvent { metadata: metadata(), ..status(None) })),
        // A bare message, before the task exists.
        ("message.parts[0].data", StreamResponse::Message(parts(data()))),
        ("message.parts[0].metadata", StreamResponse::Message(parts(marked()))),
    ]
}

fn message_of(metadata: Option<Box<Struct>>) -> Message {
    Message { metadata, ..Message::agent("x") }
}

#[tokio::test]
async fn an_event_with_deep_nesting_fails_its_task() {
    for ((field, deep), (_, fine)) in replies(31).into_iter().zip(replies(30)) {
        let says = |response: StreamResponse| {
            engine(move |turn| {
                let response = response.clone();
                async move { turn.emit(response).await }
            })
        };
        let engine = says(deep);
        let task = send(&engine, SendMessageRequest::new(Message::user("hello"))).await.unwrap();
        assert_state(&task, TaskState::Failed);
        let reason = format!("{field} of the agent nests deeper than 30 levels of lists and objects (nesting)");
        assert_eq!(task.status.message.unwrap().text(), reason);
        assert!(task.artifacts.is_empty() && task.metadata.is_none(), "{field}");
        quiet(&engine).await;

        let engine = says(fine);
        match call(&engine, SendMessageRequest::new(Message::user("hello"))).await.unwrap() {
            Reply::Task(task) => assert_state(&task, TaskState::Completed),
            Reply::Message(message) => assert!(field.starts_with("message"), "{message:?}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_limit_is_the_engines_own() {
    let engine = builder(|turn| async move { turn.complete("done").await });
    let mut limits = Limits::default();
    limits.nesting = 2;
    let engine = engine.limits(limits).build();
    assert!(send(&engine, SendMessageRequest::new(message(2))).await.is_ok());
    let error = send(&engine, SendMessageRequest::new(message(3))).await.unwrap_err();
    assert_eq!(error.field_violations()[0].description, "nests deeper than 2 levels of lists and objects");
}
