//! The scripts of the conformance suite, by the id of the message and by its text.

use nuncio_model::{Message, Part, TaskState};
use serde_json::json;

use crate::support::{cancel_while_working, events, say, status, status_text, with_id};

use TaskState::{AuthRequired, Canceled, Completed, Failed, InputRequired, Rejected};

async fn artifact(script: &str) -> Part {
    let task = say(script).await;
    assert_eq!((task.state(), task.artifacts.len()), (Completed, 1), "{script}");
    task.artifacts[0].parts.first().unwrap().into()
}

#[tokio::test]
async fn states_are_reached_by_text_and_by_id() {
    assert_eq!(status(&say("tck-complete-task").await), (Completed, "Hello from TCK".to_owned()));
    for (script, state) in [
        ("tck-input-required", InputRequired),
        ("tck-auth-required", AuthRequired),
        ("tck-reject-task", Rejected),
        ("tck-task-failure", Failed),
    ] {
        let task = say(&format!("{script} please")).await;
        assert_eq!(task.state(), state, "{script}");
        assert!(!status_text(&task).is_empty(), "{script}");
        let engine = crate::support::demo();
        assert_eq!(crate::support::send(&engine, with_id(script, "echo x")).await.state(), state, "{script}");
    }
}

#[tokio::test]
async fn artifacts_are_what_the_suite_expects() {
    assert_eq!(artifact("tck-artifact-text").await, Part::text("Generated text content"));
    let url = Part::url("https://example.com/output.txt").with_filename("output.txt").with_media_type("text/plain");
    assert_eq!(artifact("tck-artifact-file-url").await, url);
    let file = artifact("tck-artifact-file").await;
    assert_eq!((file.filename(), file.media_type()), (Some("output.txt"), Some("text/plain")));
    assert!(matches!(file.content, nuncio_model::PartContent::Raw(_)));
    assert_eq!(artifact("tck-artifact-data").await, Part::data(json!({"key": "value", "count": 42})));
}

#[tokio::test]
async fn a_direct_message_creates_no_task() {
    assert_eq!(events(Message::user("tck-message-response")).await, ["message Direct message response"]);
}

#[tokio::test]
async fn streams_are_what_the_suite_expects() {
    let text = ["task submitted", "working", r#"tck-artifact-1 "Streamed text content" last"#, "completed"];
    for script in
        ["tck-stream-basic", "tck-stream-001", "tck-stream-003", "tck-stream-ordering-001", "tck-stream-artifact-text"]
    {
        assert_eq!(events(with_id(script, "x")).await, text, "{script}");
    }
    assert_eq!(events(with_id("tck-stream-002", "x")).await, ["task submitted", "completed"]);
    let file = ["task submitted", "working", r#"tck-artifact-1 "" last"#, "completed"];
    assert_eq!(events(with_id("tck-stream-artifact-file", "x")).await, file);
    for script in ["tck-stream-chunked", "tck-stream-artifact-chunked"] {
        let chunks = [
            "task submitted",
            "working",
            r#"tck-artifact-1 "chunk-1 ""#,
            r#"tck-artifact-1 "chunk-2" append last"#,
            "completed",
        ];
        assert_eq!(events(with_id(script, "x")).await, chunks, "{script}");
    }
}

#[tokio::test]
async fn long_work_can_be_canceled() {
    for script in ["tck-cancel", "tck-long-running", "test-resubscribe-message-id"] {
        let task = cancel_while_working(with_id(script, "x")).await;
        assert_eq!((task.state(), task.artifacts.len()), (Canceled, 0), "{script}");
    }
}

#[tokio::test]
async fn long_work_ends_with_an_artifact() {
    let stream = ["task submitted", "working", r#"tck-artifact-1 "Generated after a while" last"#, "completed"];
    assert_eq!(events(Message::user("tck-long-running")).await, stream);
}
