//! Limits by caller: a caller at its limit does not affect other callers.

use std::num::NonZeroU32;

use nuncio_auth::Tokens;
use nuncio_engine::{Engine, Idempotency};
use nuncio_server::{Limits, Rate};
use serde_json::{Value, json};

use super::{
    Running,
    agent::{engine, message},
    client::{Answer, Outgoing, Raw, reason, until},
};

async fn limited(change: impl FnOnce(&mut Limits)) -> Running {
    of(engine().build(), change).await
}

async fn of(engine: Engine, change: impl FnOnce(&mut Limits)) -> Running {
    let mut limits = Limits::default();
    change(&mut limits);
    let tokens = Tokens::new().with("alice", "of-alice").unwrap().with("bob", "of-bob").unwrap();
    Running::of(engine, |builder| builder.limits(limits).authenticator(tokens)).await
}

trait By {
    fn by(self, name: &str) -> Self;
}

impl By for Outgoing {
    fn by(self, name: &str) -> Self {
        self.header("authorization", format!("Bearer of-{name}"))
    }
}

/// Asserts that an answer reports a limit of its caller and the time for a repetition.
fn is_refused(answer: &Answer, error: &Value, limit: &str) {
    assert_eq!((answer.status, answer.header("retry-after")), (429, "1"), "{error}");
    assert_eq!(reason(error), "RESOURCE_EXHAUSTED");
    let details = error.get("data").or_else(|| error.get("details")).unwrap();
    assert_eq!(details[0]["metadata"]["limit"], limit);
    let retry = details.as_array().unwrap().iter().find(|it| it["@type"] == "type.googleapis.com/google.rpc.RetryInfo");
    assert_eq!(retry.unwrap()["retryDelay"], "1s");
}

#[tokio::test]
async fn a_caller_over_its_request_limit_gets_429_and_others_continue() {
    let running = limited(|limits| limits.requests_per_caller = 1).await;
    let blocked = tokio::spawn(running.rpc("SendMessage", &message("silent")).by("alice").fetch());
    until(async || running.send("GET", "/tasks").by("alice").fetch().await.status == 429).await;
    let rest = running.send("GET", "/tasks").by("alice").fetch().await;
    is_refused(&rest, &rest.rest_error(), "requests_per_caller");
    let rpc = running.rpc("ListTasks", &json!({})).by("alice").fetch().await;
    is_refused(&rpc, &rpc.json()["error"], "requests_per_caller");
    assert_eq!(running.send("GET", "/tasks").by("bob").fetch().await.status, 200);
    blocked.abort();
    until(async || running.send("GET", "/tasks").by("alice").fetch().await.status == 200).await;
}

#[tokio::test]
async fn a_caller_over_its_stream_limit_gets_429_and_others_continue() {
    let running = limited(|limits| (limits.streams_per_caller, limits.streams) = (1, 2)).await;
    let stream = |name: &str| running.send("POST", "/message:stream").json(&message("silent")).by(name);
    let of_alice = stream("alice").open().await;
    let refused = stream("alice").fetch().await;
    is_refused(&refused, &refused.rest_error(), "streams_per_caller");
    let of_bob = stream("bob").open().await;
    drop(of_alice);
    until(async || {
        let again = tokio::time::timeout(std::time::Duration::from_millis(200), stream("alice").fetch()).await;
        !matches!(again, Ok(answer) if answer.status == 429)
    })
    .await;
    drop(of_bob);
}

#[tokio::test]
async fn a_caller_over_its_byte_limit_gets_429_and_others_continue() {
    let running = limited(|limits| {
        (limits.body, limits.body_bytes_per_caller, limits.body_bytes) = (1_000, 1_500, 2_200);
    })
    .await;
    let hold = async |name: &str| {
        let mut raw = Raw::connect(running.address).await;
        raw.write(&format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer of-{name}\r\ncontent-type: application/json\r\n\
             content-length: 999\r\n\r\n{}",
            "x".repeat(900)
        ))
        .await;
        raw
    };
    let send = |name: &str| running.rpc("SendMessage", &message(&"x".repeat(700))).by(name);
    let of_alice = hold("alice").await;
    until(async || send("alice").fetch().await.status == 429).await;
    let refused = send("alice").fetch().await;
    is_refused(&refused, &refused.json()["error"], "body_bytes_per_caller");
    assert_eq!(send("bob").fetch().await.status, 200);
    let of_bob = hold("bob").await;
    until(async || running.rpc("SendMessage", &message(&"x".repeat(400))).by("bob").fetch().await.status == 503).await;
    drop((of_alice, of_bob));
    until(async || send("alice").fetch().await.status == 200).await;
}

#[tokio::test]
async fn a_caller_over_its_rate_gets_429_with_retry_after() {
    let one = |number| NonZeroU32::new(number).unwrap();
    let running = limited(|limits| limits.rate = Some(Rate { per_second: one(1), burst: one(3) })).await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(running.send("GET", "/tasks").by("alice").fetch().await.status);
    }
    // For one of the calls, time may have passed.
    assert_eq!(statuses[..3], [200; 3]);
    until(async || running.send("GET", "/tasks").by("alice").fetch().await.status == 429).await;
    let refused = running.send("GET", "/tasks").by("alice").fetch().await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
    assert_eq!(running.send("GET", "/tasks").by("bob").fetch().await.status, 200);
    until(async || running.send("GET", "/tasks").by("alice").fetch().await.status == 200).await;
    assert_eq!(running.send("GET", "/healthz").fetch().await.status, 200, "health is for everybody");
}

#[tokio::test]
async fn duplicate_messages_are_recognized_over_every_binding_and_version() {
    let engine = engine().idempotency(Idempotency::Within(std::time::Duration::from_mins(10))).build();
    let running = of(engine, |_| {}).await;
    let rpc = running.rpc("SendMessage", &message("hello")).by("alice").fetch().await.json();
    let id = rpc["result"]["task"]["id"].clone();
    assert!(id.is_string(), "{rpc}");
    let rest = running.send("POST", "/message:send").json(&message("hello")).by("alice").fetch().await;
    assert_eq!(rest.json()["task"]["id"], id);
    let older = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {
        "kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}}});
    let older = running.send("POST", "/").header("a2a-version", "0.3").json(&older).by("alice").fetch().await.json();
    assert_eq!(older["result"]["id"], id, "{older}");
    let of_bob = running.rpc("SendMessage", &message("hello")).by("bob").fetch().await.json();
    assert_ne!(of_bob["result"]["task"]["id"], id);
    let other = running.send("POST", "/message:send").json(&message("another")).by("alice").fetch().await;
    assert_eq!((other.status, reason(&other.rest_error())), (400, "INVALID_PARAMS"));
    let card = running.send("GET", "/.well-known/agent-card.json").fetch().await.json();
    let extensions = card["capabilities"]["extensions"].as_array().unwrap();
    assert!(extensions.iter().any(|it| it["uri"] == Idempotency::EXTENSION && it["params"]["windowSeconds"] == 600));
}
