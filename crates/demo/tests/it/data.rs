//! Parts of every kind, data by a schema, and the agent's information about its caller.

use nuncio_model::{
    Message, Part, PartRef, Principal, Request, Role, Scope, Task, TaskState, Value,
    op::{SendMessageConfiguration, SendMessageRequest, SendMessageResponse},
};
use serde_json::json;

use crate::support::{call, demo, say, status_text};

fn asking_for(schema: &Value) -> Message {
    let metadata = json!({"schema": schema}).as_object().unwrap().clone();
    Message::new(Role::User, vec![Part::text("table").with_metadata(metadata)])
}

async fn table(message: Message, modes: &[&str]) -> Task {
    let accepted_output_modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
    let configuration = SendMessageConfiguration { accepted_output_modes, ..Default::default() };
    let request = SendMessageRequest::new(message).with_configuration(configuration);
    match call(&demo(), request).await {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a message: {message:?}"),
    }
}

fn data(task: &Task) -> Value {
    assert_eq!(task.state(), TaskState::Completed, "{}", status_text(task));
    task.artifacts[0].parts.first().and_then(PartRef::as_data).expect("data").to_value()
}

#[tokio::test]
async fn parts_are_of_every_kind() {
    let task = say("parts").await;
    assert_eq!(task.state(), TaskState::Completed);
    let bytes: Vec<u8> = (0..=255).collect();
    let expected = [
        ("a-text", Part::text("héllo ✓")),
        ("a-raw", Part::raw(bytes).with_media_type("application/octet-stream").with_filename("all.bin")),
        ("a-url", Part::url("https://example.com/o.txt").with_media_type("text/plain").with_filename("o.txt")),
        ("a-data", Part::data(json!({"k": [1, 2.5, null, true, "x"]}))),
    ];
    let parts: Vec<_> =
        task.artifacts.iter().map(|a| (a.artifact_id.as_str(), Part::from(a.parts.first().unwrap()))).collect();
    assert_eq!(parts, expected);
}

#[tokio::test]
async fn a_table_follows_the_schema_of_the_client() {
    let schema = json!({
        "type": "object", "required": ["rows"],
        "properties": {"rows": {"type": "array", "items": {"type": "object", "required": ["name", "count"],
            "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}}}},
    });
    let task = table(asking_for(&schema), &[]).await;
    assert_eq!(data(&task)["rows"][1], json!({"name": "name 2", "count": 2}));
}

#[tokio::test]
async fn a_schema_without_a_sample_is_rejected_with_the_reason() {
    for schema in [json!({"type": "string", "pattern": "^[0-9]{5}$"}), json!({"type": "made-up"}), json!({"not": {}})] {
        let task = table(asking_for(&schema), &[]).await;
        assert_eq!(task.state(), TaskState::Rejected, "{schema}");
        assert!(status_text(&task).contains("schema"), "{}", status_text(&task));
    }
}

#[tokio::test]
async fn a_table_has_a_media_type_that_the_client_accepts() {
    for modes in [&[][..], &["application/json"], &["image/png", "*/*"], &["application/*;q=1"]] {
        assert_eq!(data(&table(Message::user("table"), modes).await)[0], json!({"name": "apples", "count": 3}));
    }
    for mode in ["text/csv", "text/plain"] {
        let task = table(Message::user("table"), &["image/png", mode]).await;
        let part = task.artifacts[0].parts.first().unwrap();
        assert_eq!((part.media_type(), part.as_text().unwrap().lines().count()), (Some(mode), 4));
    }
    assert_eq!(table(Message::user("table"), &["image/png"]).await.state(), TaskState::Rejected);
    assert_eq!(table(asking_for(&json!({})), &["text/plain"]).await.state(), TaskState::Rejected);
}

#[tokio::test]
async fn the_agent_knows_its_caller() {
    let scope = Scope::new("acme".into(), Principal::named("alice"));
    let mut request = SendMessageRequest::new(Message::user("whoami"));
    let configuration =
        SendMessageConfiguration { accepted_output_modes: vec!["text/plain".to_owned()], ..Default::default() };
    request.configuration = Some(Box::new(configuration));
    let reply = demo().call(Request::new(scope, request)).await.unwrap();
    let SendMessageResponse::Task(task) = reply.try_into().unwrap() else { panic!("a task") };
    let expected = json!({
        "principal": "alice", "authenticated": true, "tenant": "acme", "extensions": [],
        "acceptedOutputModes": ["text/plain"], "references": [],
    });
    assert_eq!(data(&task), expected);
}
