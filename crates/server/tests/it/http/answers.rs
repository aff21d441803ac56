//! Large answers: counted until their client has read them, shared by their readers, and the same on the wire as small
//! answers.

use std::time::{Duration, Instant};

use nuncio_auth::Tokens;
use nuncio_server::Limits;
use serde_json::{Value, json};

use super::{
    Running,
    agent::{engine, message},
    client::{Answer, Outgoing, Raw, reason, until},
};

/// More bytes than the system buffers for a client that does not read.
const LARGE: usize = 16 << 20;

async fn limited(change: impl FnOnce(&mut Limits)) -> Running {
    let mut limits = Limits::default();
    change(&mut limits);
    let tokens = Tokens::new().with("alice", "of-alice").unwrap().with("bob", "of-bob").unwrap();
    Running::of(engine().build(), |builder| builder.limits(limits).authenticator(tokens)).await
}

trait By {
    fn by(self, name: &str) -> Self;
}

impl By for Outgoing {
    fn by(self, name: &str) -> Self {
        self.header("authorization", format!("Bearer of-{name}"))
    }
}

/// The id of a task of a caller with a large status.
async fn large(running: &Running, name: &str) -> String {
    let sent = running.rpc("SendMessage", &message(&format!("repeat {LARGE}"))).by(name).fetch().await;
    sent.json()["result"]["task"]["id"].as_str().unwrap().to_owned()
}

/// Sends a request with a successful answer, and reads only its head.
async fn unread(running: &Running, name: &str, request: &str, body: &str) -> Raw {
    let mut raw = Raw::connect(running.address).await;
    raw.write(&format!(
        "{request} HTTP/1.1\r\nhost: {}\r\na2a-version: 1.0\r\nauthorization: Bearer of-{name}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        running.address,
        body.len()
    ))
    .await;
    let head = raw.read_until("\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    raw
}

fn is_refused(answer: &Answer, error: &Value, status: u16, limit: &str) {
    assert_eq!((answer.status, answer.header("retry-after")), (status, "1"), "{error}");
    let details = error.get("data").or_else(|| error.get("details")).unwrap().as_array().unwrap();
    assert_eq!(details[0]["metadata"]["limit"], limit);
    let retry = details.iter().find(|it| it["@type"] == "type.googleapis.com/google.rpc.RetryInfo").unwrap();
    assert_eq!(retry["retryDelay"], "1s");
}

#[tokio::test]
async fn unread_answers_are_counted_and_equal_answers_count_once() {
    let running = limited(|limits| {
        (limits.answer_bytes, limits.answer_bytes_per_caller) = (LARGE * 3 / 2, LARGE * 5 / 4);
    })
    .await;
    let [one, other, of_bob] =
        [large(&running, "alice").await, large(&running, "alice").await, large(&running, "bob").await];
    let get = |id: &str, name: &str| running.send("GET", &format!("/tasks/{id}")).by(name);
    let mut of_alice = Vec::new();
    for _ in 0..4 {
        of_alice.push(unread(&running, "alice", &format!("GET /tasks/{one}"), "").await);
    }
    let refused = get(&other, "alice").fetch().await;
    is_refused(&refused, &refused.rest_error(), 429, "answer_bytes_per_caller");
    assert_eq!(reason(&refused.rest_error()), "RESOURCE_EXHAUSTED");
    let refused = get(&of_bob, "bob").fetch().await;
    is_refused(&refused, &refused.rest_error(), 503, "answer_bytes");
    // JSON-RPC reports an error of a call with status 200.
    let refused = running.rpc("GetTask", &json!({"id": of_bob})).by("bob").fetch().await;
    is_refused(&refused, &refused.json()["error"], 200, "answer_bytes");
    assert_eq!(running.send("GET", "/tasks?pageSize=1&historyLength=0").by("bob").fetch().await.status, 503);
    let small = running.rpc("SendMessage", &message("hello")).by("bob").fetch().await;
    assert!(small.json()["result"]["task"].is_object(), "what is small is not counted");
    drop(of_alice);
    until(async || get(&of_bob, "bob").fetch().await.status == 200).await;
    until(async || get(&other, "alice").fetch().await.status == 200).await;
}

/// The message was accepted: a client must not repeat the message because of a refusal.
#[tokio::test]
async fn the_answer_to_a_message_waits_for_room() {
    let running = limited(|limits| limits.answer_bytes_per_caller = LARGE / 2).await;
    let one = large(&running, "alice").await;
    let unread = unread(&running, "alice", &format!("GET /tasks/{one}"), "").await;
    let sent = tokio::spawn(running.rpc("SendMessage", &message(&format!("repeat {LARGE}"))).by("alice").fetch());
    let tasks = async || running.send("GET", "/tasks?pageSize=1&status=TASK_STATE_SUBMITTED").by("alice").fetch().await;
    until(async || tasks().await.json()["totalSize"] == 0).await;
    assert!(!sent.is_finished());
    drop(unread);
    assert!(sent.await.unwrap().json()["result"]["task"].is_object());
}

#[tokio::test]
async fn the_first_event_of_a_stream_counts_and_subscribers_share_it() {
    let running = limited(|limits| limits.answer_bytes = LARGE * 3 / 2).await;
    let begun = |name: &str| {
        let mut params = message(&format!("hold {}", "x".repeat(LARGE >> 20)));
        params["configuration"] = json!({"returnImmediately": true});
        running.rpc("SendMessage", &params).by(name)
    };
    let mut ids = Vec::new();
    for name in ["alice", "bob"] {
        let id = begun(name).fetch().await.json()["result"]["task"]["id"].as_str().unwrap().to_owned();
        let path = format!("/tasks/{id}?historyLength=0");
        until(async || running.send("GET", &path).by(name).fetch().await.body.len() > LARGE).await;
        ids.push(id);
    }
    let rpc = json!({"jsonrpc": "2.0", "id": "a\u{2028}b", "method": "SubscribeToTask", "params": {"id": ids[0]}});
    let mut of_alice = Vec::new();
    for _ in 0..3 {
        of_alice.push(unread(&running, "alice", "POST /", &rpc.to_string()).await);
        of_alice.push(unread(&running, "alice", &format!("GET /tasks/{}:subscribe", ids[0]), "").await);
    }
    let subscribe = running.send("GET", &format!("/tasks/{}:subscribe", ids[1])).by("bob");
    let refused = subscribe.fetch().await;
    is_refused(&refused, &refused.rest_error(), 503, "answer_bytes");
    drop(of_alice);
    let mut feed = running.rpc("SubscribeToTask", &json!({"id": ids[0]})).by("alice").open().await;
    let first = feed.response().await.unwrap();
    assert_eq!(first["task"]["artifacts"][0]["parts"][0]["text"].as_str().unwrap().len(), LARGE);
    running.rpc("CancelTask", &json!({"id": ids[0]})).by("alice").fetch().await;
    let last = feed.responses().await.pop().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
}

/// With every content, and with every frame.
#[tokio::test]
async fn a_large_answer_has_the_format_of_a_small_answer() {
    let running = Running::start().await;
    let text = "a \u{2028}\"\\\u{1}\n".repeat(20_000);
    let id = json!("\u{2028}");
    let call = |method: &str, params: &Value| {
        running.send("POST", "/").json(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let sent = call("SendMessage", &message(&text)).fetch().await;
    assert_eq!(sent.header("content-length"), sent.body.len().to_string());
    let (sent, rest) = (sent.json(), running.send("POST", "/message:send").json(&message(&text)).fetch().await.json());
    assert_eq!(sent["id"], id);
    let mut feed = call("SendStreamingMessage", &message(&text)).open().await;
    let events = feed.rest().await;
    let event: Vec<Value> = events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    assert!(event.iter().all(|event| event["id"] == id));
    assert!(!feed.text.contains('\u{2028}'));
    assert_eq!(events.iter().map(|event| event.id.as_deref().unwrap()).collect::<Vec<_>>(), ["1", "2", "3"]);
    for task in [&sent["result"]["task"], &rest["task"], &event[0]["result"]["task"]] {
        assert_eq!(task["history"][0]["parts"][0]["text"], *text);
    }
    assert_eq!(event[1]["result"]["artifactUpdate"]["artifact"]["parts"][0]["text"], *text);
}

/// The server has one thread for all work, and reads four bodies of many megabytes.
#[test]
fn health_is_answered_while_large_bodies_are_read() {
    let of_server = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let of_clients = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let running = of_server.block_on(Running::start());
    of_clients.block_on(async {
        // A little less than `engine.values`.
        let part = json!({"data": vec![json!({"name": "value".repeat(20), "other": [1, 2, 3]}); 40_000]});
        let params = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [part]}});
        let begun = Instant::now();
        let sends: Vec<_> = (0..4).map(|_| tokio::spawn(running.rpc("SendMessage", &params).fetch())).collect();
        let mut longest = Duration::ZERO;
        while !sends.iter().all(tokio::task::JoinHandle::is_finished) {
            let asked = Instant::now();
            assert_eq!(running.send("GET", "/healthz").fetch().await.status, 200);
            longest = longest.max(asked.elapsed());
        }
        let all = begun.elapsed();
        for send in sends {
            assert!(send.await.unwrap().json()["result"].is_object());
        }
        assert!(longest < all / 4, "an answer came after {longest:?}, where all took {all:?}");
    });
}
