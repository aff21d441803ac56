//! Server-sent events.

use std::time::{Duration, Instant};

use nuncio_server::Limits;
use serde_json::{Value, json};

use super::{
    Running,
    agent::{message, reply},
    client::{Raw, reason, until},
};

fn state(response: &Value) -> &str {
    let status = response.pointer("/statusUpdate/status/state").or_else(|| response.pointer("/task/status/state"));
    status.and_then(Value::as_str).unwrap_or("")
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
    let running = Running::start().await;
    let mut feed = running.stream("stream 3").await;
    assert_eq!(feed.headers["cache-control"], "no-cache");
    assert_eq!(feed.headers["x-accel-buffering"], "no");
    let events = feed.rest().await;
    let sequences: Vec<_> = events.iter().map(nuncio_wire::sse::Event::sequence).collect();
    assert_eq!(sequences, (1..=6).map(Some).collect::<Vec<_>>());
    for event in &events {
        let document: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!((&document["jsonrpc"], &document["id"]), (&json!("2.0"), &json!(1)));
        assert!(event.event.is_none());
    }
    let mut feed = running.send("POST", "/message:stream").json(&message("stream 3")).open().await;
    let responses = feed.responses().await;
    assert_eq!(responses.len(), 6);
    assert!(responses[0]["task"].is_object());
    assert!(responses[1..5].iter().all(|response| response["artifactUpdate"].is_object()));
    assert_eq!(state(&responses[5]), "TASK_STATE_COMPLETED");
    assert!(!feed.text.contains("\"final\"") && !feed.text.contains("\"kind\""));
}

#[tokio::test]
async fn a_direct_answer_is_one_event() {
    let running = Running::start().await;
    let mut feed = running.stream("direct hello").await;
    let responses = feed.responses().await;
    assert_eq!(responses.len(), 1);
    assert_eq!(responses[0]["message"]["parts"][0]["text"], "hello");
    assert!(!feed.text.contains("id: "));
}

#[tokio::test]
async fn a_document_is_one_line_with_any_text() {
    let running = Running::start().await;
    let text = "a\nb\r\nc\rd\u{2028}e\u{2029}f\u{85}<>&ü\"\\";
    let mut feed = running.stream(text).await;
    let responses = feed.responses().await;
    assert_eq!(responses[1]["artifactUpdate"]["artifact"]["parts"][0]["text"], text);
    assert_eq!(feed.text.matches("data: ").count(), responses.len());
}

#[tokio::test]
async fn no_event_is_lost_at_any_size_of_a_queue() {
    let running = Running::start().await;
    for count in [1, 63, 64, 65, 255, 256, 257, 1000, 10_000] {
        let responses = running.stream(&format!("stream {count}")).await.responses().await;
        assert_eq!(responses.len(), count + 3, "{count}");
        for (chunk, response) in responses[1..=count].iter().enumerate() {
            assert_eq!(response["artifactUpdate"]["artifact"]["parts"][0]["text"], format!("{chunk};"));
        }
        assert_eq!(state(responses.last().unwrap()), "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn errors_before_the_first_event_are_plain() {
    let running = Running::start().await;
    let ended = running.task("hello").await["id"].clone();
    let error = running.error("SubscribeToTask", &json!({"id": ended})).await;
    assert_eq!(reason(&error), "UNSUPPORTED_OPERATION");
    let error = running.error("SubscribeToTask", &json!({"id": "no-such"})).await;
    assert_eq!(reason(&error), "TASK_NOT_FOUND");
    let error = running.error("SendStreamingMessage", &reply(&json!({"id": ended}), "more")).await;
    assert_eq!(reason(&error), "UNSUPPORTED_OPERATION");
}

#[tokio::test]
async fn all_readers_get_the_same_events_and_a_disconnect_affects_no_other_reader() {
    let running = Running::start().await;
    let task = running.task("ask").await;
    let mut feeds = Vec::new();
    for _ in 0..5 {
        feeds.push(running.rpc("SubscribeToTask", &json!({"id": task["id"]})).open().await);
    }
    let mut leaver = feeds.pop().unwrap();
    leaver.next().await.unwrap();
    drop(leaver);
    running.call("SendMessage", &reply(&task, "stream 100")).await;
    let mut runs = Vec::new();
    for feed in &mut feeds {
        runs.push(feed.rest().await);
    }
    assert!(runs.iter().all(|run| *run == runs[0]));
    assert_eq!(runs[0].iter().filter(|event| event.data.contains("artifactUpdate")).count(), 101);
}

#[tokio::test]
async fn a_disconnect_does_not_stop_the_task() {
    let running = Running::start().await;
    let mut feed = running.stream("slow 100").await;
    let id = feed.response().await.unwrap()["task"]["id"].clone();
    drop(feed);
    until(async || running.call("GetTask", &json!({"id": id})).await["status"]["state"] == "TASK_STATE_COMPLETED")
        .await;
}

#[tokio::test]
async fn a_silent_stream_carries_comments() {
    let mut limits = Limits::default();
    limits.keep_alive = Duration::from_millis(30);
    let running = Running::with(|builder| builder.limits(limits)).await;
    let task = running.task("ask").await;
    let mut raw = Raw::connect(running.address).await;
    let path = format!("/tasks/{}:subscribe", task["id"].as_str().unwrap());
    raw.write(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n\r\n")).await;
    let begin = Instant::now();
    for _ in 0..3 {
        raw.read_until(": keep-alive\n\n").await;
    }
    assert!(begin.elapsed() >= Duration::from_millis(60));
}

#[tokio::test]
async fn small_frames_are_sent_at_once() {
    let running = Running::start().await;
    let begin = Instant::now();
    for _ in 0..20 {
        running.stream("stream 1").await.rest().await;
    }
    assert!(begin.elapsed() < Duration::from_millis(20 * 40), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_stream_over_the_limit_is_refused_and_creates_no_task() {
    let mut limits = Limits::default();
    limits.streams = 2;
    let running = Running::with(|builder| builder.limits(limits)).await;
    let one = running.stream("silent").await;
    let two = running.stream("silent").await;
    let error = running.error("SendStreamingMessage", &message("hello")).await;
    assert_eq!((&error["code"], reason(&error)), (&json!(-32093), "RESOURCE_EXHAUSTED"));
    let answer = running.send("POST", "/message:stream").json(&message("hello")).fetch().await;
    assert_eq!((answer.status, answer.header("retry-after")), (429, "1"));
    assert_eq!(running.call("ListTasks", &json!({})).await["totalSize"], 2);
    drop(one);
    until(async || {
        running.rpc("SendStreamingMessage", &message("hello")).fetch().await.media_type() == "text/event-stream"
    })
    .await;
    drop(two);
}
