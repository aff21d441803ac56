//! Streams that resume after a broken connection (`docs/extensions/resume.md`).

use std::sync::Arc;

use nuncio_engine::MemoryStore;
use nuncio_model::resume::{FACT, PARAMETER, URI};
use serde_json::{Value, json};

use super::{
    Running,
    agent::{card, engine, message},
    client::{Answer, Feed, Outgoing, reason},
};

/// A server that stores the events of ended tasks.
async fn keeping() -> Running {
    Running::of(engine().store(Arc::new(MemoryStore::builder().keep_log(true).build())).build(), |it| it).await
}

/// The task of `stream 3`, which has six events: the task, three chunks, the last chunk, the end.
async fn ended(running: &Running) -> String {
    running.task("stream 3").await["id"].as_str().unwrap().to_owned()
}

const END: u64 = 6;

/// All ways to subscribe in 1.0.
fn ways(running: &Running, id: &str) -> [Outgoing; 3] {
    let path = format!("/tasks/{id}:subscribe");
    let rpc = running.rpc("SubscribeToTask", &json!({"id": id}));
    [running.send("GET", &path), running.send("POST", &path).json(&json!({})), rpc]
}

async fn places(mut feed: Feed) -> Vec<u64> {
    feed.rest().await.iter().map(|event| event.sequence().unwrap()).collect()
}

/// The error in an answer of either binding.
fn error_of(answer: &Answer) -> Value {
    answer.json()["error"].take()
}

fn fact(error: &Value) -> &Value {
    let details = error.get("data").or_else(|| error.get("details")).unwrap();
    &details[0]["metadata"][FACT]
}

#[tokio::test]
async fn the_card_declares_resume_if_the_agent_streams() {
    let declared = async |running: Running| {
        let card = running.send("GET", "/.well-known/agent-card.json").fetch().await.json();
        let extensions = card["capabilities"]["extensions"].as_array().cloned().unwrap_or_default();
        extensions.into_iter().filter(|extension| extension["uri"] == URI).collect::<Vec<_>>()
    };
    let found = declared(Running::start().await).await;
    assert_eq!(found.len(), 1);
    assert!(found[0].get("required").is_none_or(|required| required == false), "{found:?}");
    let mut silent = card();
    silent.capabilities.streaming = Some(false);
    assert!(declared(Running::of(engine().card(silent).build(), |it| it).await).await.is_empty());
    let mut own = card();
    own.capabilities.extensions.push(nuncio_model::resume::declaration());
    assert_eq!(declared(Running::of(engine().card(own).build(), |it| it).await).await.len(), 1);
}

#[tokio::test]
async fn exactly_the_events_after_the_cursor_arrive() {
    let running = keeping().await;
    let id = ended(&running).await;
    for last in 0..END {
        for name in ["last-event-id", PARAMETER] {
            for request in ways(&running, &id) {
                let feed = request.header(name, last.to_string()).open().await;
                assert_eq!(places(feed).await, (last + 1..=END).collect::<Vec<_>>(), "{name}: {last}");
            }
        }
    }
}

#[tokio::test]
async fn last_event_id_has_precedence() {
    let running = keeping().await;
    let id = ended(&running).await;
    for request in ways(&running, &id) {
        let feed = request.header("last-event-id", "4").header(PARAMETER, "1").open().await;
        assert_eq!(places(feed).await, [5, 6]);
    }
    for request in ways(&running, &id) {
        let feed = request.header("last-event-id", "").header(PARAMETER, "4").open().await;
        assert_eq!(places(feed).await, [5, 6]);
    }
}

#[tokio::test]
async fn an_invalid_cursor_or_a_cursor_beyond_the_end_is_refused() {
    let running = keeping().await;
    let id = ended(&running).await;
    for (cursor, why) in
        [("garbage", "invalid"), ("-1", "invalid"), ("99999999999999999999", "invalid"), ("7", "ahead")]
    {
        for name in ["last-event-id", PARAMETER] {
            for (request, status) in ways(&running, &id).into_iter().zip([400, 400, 200]) {
                let answer = request.header(name, cursor).fetch().await;
                let error = error_of(&answer);
                assert_eq!((answer.status, reason(&error), fact(&error)), (status, "INVALID_PARAMS", &json!(why)));
                assert!(error.to_string().contains(PARAMETER), "{error}");
            }
        }
    }
    // A reader that has seen the last event gets the same error as other readers.
    for request in ways(&running, &id) {
        let error = error_of(&request.header(PARAMETER, "6").fetch().await);
        assert_eq!((reason(&error), fact(&error)), ("UNSUPPORTED_OPERATION", &Value::Null));
    }
}

#[tokio::test]
async fn deleted_events_are_an_error() {
    let running = Running::start().await;
    let id = ended(&running).await;
    for (request, status) in ways(&running, &id).into_iter().zip([400, 400, 200]) {
        let answer = request.header(PARAMETER, "3").fetch().await;
        let error = error_of(&answer);
        assert_eq!((answer.status, reason(&error)), (status, "UNSUPPORTED_OPERATION"));
        assert_eq!(fact(&error), &json!("expired"));
    }
}

#[tokio::test]
async fn a_repeated_message_that_resumes_its_stream_is_not_executed_again() {
    let running = Running::start().await;
    let rpc = running.rpc("SendStreamingMessage", &message("stream 3")).header(PARAMETER, "2");
    let rest = running.send("POST", "/message:stream").json(&message("stream 3")).header("last-event-id", "2");
    for request in [rpc, rest] {
        let error = error_of(&request.fetch().await);
        assert_eq!((reason(&error), fact(&error)), ("INVALID_PARAMS", &json!("invalid")));
    }
    assert_eq!(running.call("ListTasks", &json!({})).await["totalSize"], 0);
    // Calls without a stream ignore the header.
    assert_eq!(running.rpc("ListTasks", &json!({})).header(PARAMETER, "?").fetch().await.status, 200);
}

/// The id inside of an event.
fn event_id(response: &Value) -> Option<&str> {
    let (_, event) = response.as_object().unwrap().iter().next().unwrap();
    event.get("metadata")?[URI]["eventId"].as_str()
}

#[tokio::test]
async fn events_have_ids_only_if_the_client_requests_the_extension() {
    let running = Running::start().await;
    let task = running.task("ask").await;
    let subscribe = |asks| {
        let rpc = running.rpc("SubscribeToTask", &json!({"id": task["id"]}));
        if asks { rpc.header("a2a-extensions", URI) } else { rpc }
    };
    // Several readers of each kind, so that the encoded bytes are shared.
    let mut feeds = Vec::new();
    for asks in [true, false, true, false] {
        let feed = subscribe(asks).open().await;
        assert_eq!(feed.headers.get("a2a-extensions").map(|it| it.to_str().unwrap()), asks.then_some(URI));
        feeds.push((asks, feed));
    }
    running.call("SendMessage", &super::agent::reply(&task, "stream 50")).await;
    let mut texts = Vec::new();
    for (asks, mut feed) in feeds {
        let mut last = 0;
        while let Some(event) = feed.next().await {
            let document: Value = serde_json::from_str(&event.data).unwrap();
            last = event.sequence().unwrap();
            assert_eq!(event_id(&document["result"]), asks.then_some(last.to_string()).as_deref());
        }
        assert!(last > 50);
        texts.push(feed.text);
    }
    assert_eq!((&texts[0], &texts[1]), (&texts[2], &texts[3]));
    // The stored event does not have the id.
    assert!(!running.call("GetTask", &json!({"id": task["id"]})).await.to_string().contains(URI));
}

#[tokio::test]
async fn streams_of_0_3_resume_too() {
    let running = keeping().await;
    let id = ended(&running).await;
    let ask = || running.rpc("tasks/resubscribe", &json!({"id": id})).without("a2a-version");
    let mut feed = ask().header(PARAMETER, "3").header("x-a2a-extensions", URI).open().await;
    assert_eq!(feed.headers["x-a2a-extensions"], URI);
    let mut seen = Vec::new();
    while let Some(event) = feed.next().await {
        let document: Value = serde_json::from_str(&event.data).unwrap();
        let result = &document["result"];
        assert_eq!(result["metadata"][URI]["eventId"], json!(event.id.clone().unwrap()));
        seen.push((event.sequence().unwrap(), result["final"] == true));
    }
    assert_eq!(seen, [(4, false), (5, false), (6, true)]);
    let mut refused = ask().header(PARAMETER, "7").open().await;
    assert!(refused.next().await.unwrap().data.contains("-32602"));
}

#[tokio::test]
async fn streams_of_0_1_keep_the_numbers_of_artifacts() {
    let running = keeping().await;
    let parts = json!([{"type": "text", "text": "two artifacts"}]);
    let params = json!({"id": "mine", "message": {"role": "user", "parts": parts}});
    let seen = async |mut feed: Feed| {
        let mut seen = Vec::new();
        for event in feed.rest().await {
            let document: Value = serde_json::from_str(&event.data).unwrap();
            let result = &document["result"];
            seen.push((event.sequence(), result["artifact"]["index"].as_u64(), result["final"] == true));
        }
        seen
    };
    let ask = |method: &str, params: &Value| running.rpc(method, params).without("a2a-version");
    let whole = seen(ask("tasks/sendSubscribe", &params).open().await).await;
    assert!(whole.last().unwrap().2, "{whole:?}");
    let numbers: Vec<_> = whole.iter().filter_map(|(_, number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 0, 1]);
    for (seen_before, (last, ..)) in (1..whole.len()).zip(&whole) {
        let last = last.unwrap().to_string();
        let again = ask("tasks/resubscribe", &json!({"id": "mine"})).header("last-event-id", &last);
        assert_eq!(seen(again.open().await).await, whole[seen_before..], "{last}");
    }
}
