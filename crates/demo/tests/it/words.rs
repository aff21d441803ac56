//! The function of each word.

use nuncio_model::{
    Call, ErrorKind, Message, Request, Scope, TaskState,
    op::{SendMessageRequest, SendMessageResponse},
};

use crate::support::{answer, cancel_while_working, demo, events, say, status, status_text};

use TaskState::{AuthRequired, Canceled, Completed, Failed, InputRequired, Rejected};

#[tokio::test]
async fn echo_returns_the_text_after_the_word() {
    let task = say("echo héllo  ✓").await;
    assert_eq!(status(&task), (Completed, "echo: héllo  ✓".to_owned()));
    assert_eq!((task.artifacts[0].artifact_id.as_str(), task.artifacts[0].text().as_str()), ("echo-1", "héllo  ✓"));
    let stream = ["task submitted", "working", r#"echo-1 "x" last"#, "completed"];
    assert_eq!(events(Message::user("echo x")).await, stream);
}

#[tokio::test]
async fn a_text_without_a_known_word_is_echoed() {
    for text in ["hello there", "Echo x", "echoes", "", "  fail"] {
        let task = say(text).await;
        assert_eq!(status(&task), (Completed, format!("echo: {text}")));
        assert_eq!(task.artifacts[0].text(), text);
    }
}

#[tokio::test]
async fn message_is_answered_without_a_task() {
    let SendMessageResponse::Message(message) = answer(&demo(), Message::user("message hi")).await else {
        panic!("a message")
    };
    assert_eq!(message.text(), "message: hi");
    assert_eq!(events(Message::user("message hi")).await, ["message message: hi"]);
}

#[tokio::test]
async fn stream_writes_the_requested_number_of_chunks() {
    let three = [
        "task submitted",
        "working",
        r#"stream-1 "chunk 1\n""#,
        r#"stream-1 "chunk 2\n" append"#,
        r#"stream-1 "chunk 3\n" append last"#,
        "completed",
    ];
    assert_eq!(events(Message::user("stream 3")).await, three);
    assert_eq!(events(Message::user("stream 3 every=1")).await, three);
    assert_eq!(events(Message::user("stream 3 after=1")).await, three);
    let sized = say("stream 2 size=10").await;
    assert_eq!(sized.artifacts[0].text(), "chunk 1\n..chunk 2\n..");
    assert_eq!(events(Message::user("stream 0")).await, ["task submitted", "working", "completed"]);
    assert_eq!(say("stream of consciousness").await.state(), Rejected);
}

#[tokio::test]
async fn a_stream_can_start_with_a_delay() {
    let begun = std::time::Instant::now();
    assert_eq!(say("stream 1 after=30").await.artifacts[0].text(), "chunk 1\n");
    assert!(begun.elapsed() >= std::time::Duration::from_millis(30));
}

#[tokio::test]
async fn a_long_stream_is_stored_completely() {
    let text = say("stream 5000").await.artifacts[0].text();
    assert!(text.lines().eq((1..=5000).map(|number| format!("chunk {number}"))));
}

#[tokio::test]
async fn a_stream_stops_when_it_is_canceled() {
    for text in ["stream 1000000 every=1", "stream 100 every=1000000", "stream 1 after=1000000"] {
        assert_eq!(cancel_while_working(Message::user(text)).await.state(), Canceled);
    }
}

#[tokio::test]
async fn input_and_auth_wait_with_a_message() {
    assert_eq!(status(&say("input").await), (InputRequired, "what else?".to_owned()));
    let task = say("auth").await;
    assert_eq!(task.state(), AuthRequired);
    assert!(!status_text(&task).is_empty());
}

#[tokio::test]
async fn waiting_tasks_complete() {
    for text in ["slow 0.02", "stubborn 0.02", "silent 0.02", "slow 0"] {
        assert_eq!(say(text).await.state(), Completed, "{text}");
    }
    assert_eq!(events(Message::user("silent 0.01")).await, ["task submitted", "completed"]);
    for text in ["slow", "slow down", "slow -1", "slow inf", "silent NaN", "stubborn 1e9"] {
        assert_eq!(say(text).await.state(), Rejected, "{text}");
    }
}

#[tokio::test]
async fn slow_stops_immediately_on_cancellation_and_stubborn_is_dropped() {
    let begun = std::time::Instant::now();
    assert_eq!(cancel_while_working(Message::user("slow 1000")).await.state(), Canceled);
    assert!(begun.elapsed() < nuncio_engine::Limits::default().cancel_grace);
    assert_eq!(cancel_while_working(Message::user("stubborn 1000")).await.state(), Canceled);
}

#[tokio::test]
async fn failures_are_reported() {
    assert_eq!(status(&say("fail").await), (Failed, "it broke".to_owned()));
    assert_eq!(events(Message::user("fail")).await, ["task submitted", "working", "failed"]);
    for (text, state) in [("reject", Rejected), ("raise", Failed), ("panic", Failed)] {
        let task = say(text).await;
        assert_eq!(task.state(), state, "{text}");
        assert!(
            !status_text(&task).is_empty() && !status_text(&task).contains("for the log only"),
            "{text}: {}",
            status_text(&task)
        );
    }
}

#[tokio::test]
async fn the_first_event_can_append_to_a_missing_artifact() {
    let stream = ["task submitted", r#"append-1 "first " append"#, r#"append-1 "second" append last"#, "completed"];
    assert_eq!(events(Message::user("append-first")).await, stream);
    assert_eq!(say("append-first").await.artifacts[0].text(), "first second");
}

#[tokio::test]
async fn the_second_version_replaces_the_first() {
    let stream = [
        "task submitted",
        "working",
        r#"replace-1 "first version" last"#,
        r#"replace-1 "second version" last"#,
        "completed",
    ];
    assert_eq!(events(Message::user("replace")).await, stream);
    assert_eq!(say("replace").await.artifacts[0].text(), "second version");
}

#[tokio::test]
async fn violations_of_the_protocol_are_not_forwarded() {
    let request: Call = SendMessageRequest::new(Message::user("two-messages")).into();
    let error = demo().call(Request::new(Scope::open(), request)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    let task = say("after-end").await;
    assert_eq!((status(&task), task.artifacts.len()), ((Completed, "that was the end".to_owned()), 0));
}
