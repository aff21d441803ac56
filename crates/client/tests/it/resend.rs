//! Messages that are sent again after a broken connection, only if the agent declares that it recognizes repeated
//! messages by their ids.

use std::time::Duration;

use axum::response::Response;
use futures_util::StreamExt as _;
use nuncio_client::{Client, ClientError, Failure, Reconnect, Timeouts};
use nuncio_model::{
    StreamResponse,
    card::extension,
    op::{GetTaskRequest, SendMessageResponse},
};
use serde_json::{Value, json};

use crate::fake::{Fake, Seen, answer, chunk_event, ok, sse, status, status_event, task, task_event};

/// An answer that ends after its first bytes.
fn cut(media_type: &'static str) -> Response {
    answer(media_type, " ", false)
}

/// An agent that answers each call by its number, from 0. `params` are the extension's params in its card.
async fn agent(
    params: Option<Value>,
    says: impl Fn(usize, &Seen) -> Response + Send + Sync + 'static,
) -> (Fake, Client) {
    let fake = Fake::start(move |seen, fake| {
        if !seen.path.contains(".well-known") {
            return says(fake.calls().len(), seen);
        }
        let mut card = fake.card("HTTP+JSON");
        if let Some(params) = &params {
            card["capabilities"]["extensions"] = json!([{"uri": extension::IDEMPOTENCY, "params": params}]);
        }
        ok(&card)
    })
    .await;
    let mut reconnect = Reconnect::default();
    reconnect.attempts = 3;
    reconnect.first_delay = Duration::from_millis(5);
    let client = Client::builder().reconnect(reconnect).connect(&*fake.url).await.unwrap();
    (fake, client)
}

fn long() -> Value {
    json!({"windowSeconds": 600})
}

fn done() -> Response {
    ok(&json!({"task": task("TASK_STATE_COMPLETED")}))
}

fn is_broken(error: &ClientError) -> bool {
    matches!(error, ClientError::Transport(Failure::Broken { .. }))
}

#[tokio::test]
async fn a_message_is_sent_again_with_its_id_after_a_broken_connection() {
    let (fake, client) = agent(Some(long()), |number, _| match number {
        0 => cut("application/json"),
        1 => status(503, "a moment"),
        _ => done(),
    })
    .await;
    assert!(matches!(client.send("hello").await.unwrap(), SendMessageResponse::Task(task) if task.id.as_str() == "t1"));
    let calls = fake.calls();
    assert_eq!(calls.len(), 3);
    assert!(calls[0].body.contains("messageId"));
    assert!(calls.iter().all(|call| call.body == calls[0].body && call.line() == "POST /message:send"));
}

#[tokio::test]
async fn a_message_is_not_sent_again_if_the_agent_could_execute_it_twice() {
    let (fake, client) = agent(None, |_, _| cut("application/json")).await;
    assert!(is_broken(&client.send("hello").await.unwrap_err()));
    assert!(is_broken(&client.send_stream("hello").await.unwrap_err()));
    assert_eq!(fake.calls().len(), 2);
    // Other operations need no ids, and their repetition is up to the caller.
    let (fake, client) = agent(Some(long()), |_, _| cut("application/json")).await;
    assert!(is_broken(&client.cancel("t1").await.unwrap_err()));
    assert_eq!(fake.calls().len(), 1);
}

#[tokio::test]
async fn repetitions_end_after_the_attempts_and_after_the_window() {
    let (fake, client) = agent(Some(long()), |_, _| cut("application/json")).await;
    assert!(is_broken(&client.send("hello").await.unwrap_err()));
    assert_eq!(fake.calls().len(), 4);
    let (fake, client) = agent(Some(json!({"windowSeconds": 0})), |_, _| cut("application/json")).await;
    assert!(is_broken(&client.send("hello").await.unwrap_err()));
    assert_eq!(fake.calls().len(), 1);
}

#[tokio::test]
async fn very_long_delays_do_not_overflow() {
    let (fake, _) = agent(Some(long()), |_, _| cut("application/json")).await;
    let mut reconnect = Reconnect::default();
    (reconnect.first_delay, reconnect.max_delay) = (Duration::MAX, Duration::MAX);
    let timeouts = Timeouts::default().with_connect(Duration::MAX).with_answer(Duration::MAX);
    let timeouts = timeouts.with_send(Duration::MAX).with_begin(Duration::MAX).with_idle(Duration::MAX);
    let client = Client::builder().reconnect(reconnect).timeouts(timeouts).connect(&*fake.url).await.unwrap();
    assert!(is_broken(&client.send("hello").await.unwrap_err()), "the window ends before");
    assert!(is_broken(&client.send_stream("hello").await.unwrap_err()), "the window ends before");
    assert_eq!(fake.calls().len(), 2);
    // A poll with a long interval, of an agent that fails.
    let mut poll = client.poll(GetTaskRequest::new("t1")).every(Duration::MAX);
    tokio::time::timeout(Duration::from_millis(500), poll.next()).await.unwrap_err();
    assert_eq!(fake.calls().len(), 3);
}

#[tokio::test]
async fn an_answered_message_is_not_sent_again() {
    let (fake, client) = agent(Some(long()), |_, _| status(503, "later")).await;
    assert!(client.send("hello").await.is_err());
    assert_eq!(fake.calls().len(), 1, "the agent said no, and did nothing");
    let (fake, client) = agent(Some(long()), |number, _| match number {
        0 => cut("application/json"),
        _ => status(400, "no"),
    })
    .await;
    assert!(!is_broken(&client.send("hello").await.unwrap_err()));
    assert_eq!(fake.calls().len(), 2);
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_task_is_known_starts_again() {
    let (fake, client) = agent(Some(long()), |number, seen| match number {
        0 => cut("text/event-stream"),
        1 => sse(&[(Some(1), task_event("TASK_STATE_WORKING")), (Some(2), chunk_event("a"))], false),
        _ if seen.path == "/tasks/t1:subscribe" => {
            sse(&[(Some(3), chunk_event("b")), (Some(4), status_event("TASK_STATE_COMPLETED"))], true)
        }
        _ => status(404, "what?"),
    })
    .await;
    let mut watch = client.send_stream("hello").await.unwrap();
    let mut chunks = String::new();
    while let Some(event) = watch.next().await {
        if let StreamResponse::ArtifactUpdate(update) = &event.unwrap().response {
            chunks.push_str(&update.artifact.text());
        }
    }
    assert_eq!(chunks, "ab");
    assert_eq!(
        fake.calls().iter().map(Seen::line).collect::<Vec<_>>(),
        ["POST /message:stream", "POST /message:stream", "POST /tasks/t1:subscribe"]
    );
    assert_eq!(fake.calls()[0].body, fake.calls()[1].body);
}
