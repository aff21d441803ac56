//! `capabilities.stateTransitionHistory` of cards of 0.1, and the history of statuses in `tasks/get`.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{Engine, MemoryStore, agent_fn};
use nuncio_model::AgentCard;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Running,
    agent::{card, engine},
};

const KEY: &str = "https://nuncio.dev/a2a/state-transition-history";

/// A version, the methods that send and read, and the message to send.
type Row = (&'static str, &'static str, Value);

fn rows() -> [Row; 3] {
    let parts = json!([{"kind": "text", "text": "ask"}]);
    let kinded = json!({"message": {"kind": "message", "messageId": "m-1", "role": "user", "parts": parts}});
    let oldest = json!({"id": "own", "message": {"role": "user", "parts": [{"type": "text", "text": "ask"}]}});
    [("0.3", "message/send", kinded.clone()), ("0.2", "message/send", kinded), ("0.1", "tasks/send", oldest)]
}

/// Only 0.1 has the history.
fn has_history(version: &str) -> bool {
    version == "0.1"
}

/// A server with a store that keeps the events.
async fn keeping() -> Running {
    let store = MemoryStore::builder().keep_log(true).build();
    Running::of(engine().store(Arc::new(store)).build(), |builder| builder).await
}

async fn call(running: &Running, version: &str, method: &str, params: &Value) -> Value {
    let mut document = running.rpc(method, params).header("a2a-version", version).fetch().await.json();
    assert!(document.get("error").is_none(), "{document}");
    document["result"].take()
}

fn states(task: &Value) -> Vec<&str> {
    let entries = task["metadata"][KEY].as_array().unwrap_or_else(|| panic!("no history: {task}"));
    assert!(entries.iter().all(|entry| entry["timestamp"].as_str().is_some_and(|time| time.ends_with('Z'))), "{task}");
    entries.iter().map(|entry| entry["state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_task_with_history_has_its_statuses() {
    for (version, send, message) in rows() {
        let running = keeping().await;
        let task = call(&running, version, send, &message).await;
        let get = async |length: Value| {
            call(&running, version, "tasks/get", &json!({"id": task["id"], "historyLength": length})).await
        };
        let read = get(json!(10)).await;
        if !has_history(version) {
            assert!(read["metadata"].get(KEY).is_none(), "{version}: {read}");
            continue;
        }
        let all = states(&read);
        assert_eq!((all.first(), all.last()), (Some(&"submitted"), Some(&"input-required")), "{version}: {read}");
        assert_eq!(states(&get(json!(1)).await), ["input-required"], "{version}");
        for length in [json!(null), json!(0), json!(i32::MAX)] {
            assert!(get(length.clone()).await["metadata"].get(KEY).is_none(), "{version} {length}");
        }
        let ended = call(&running, version, "tasks/cancel", &json!({"id": task["id"]})).await;
        assert_eq!(ended["status"]["state"], "canceled", "{version}");
        let read = get(json!(10)).await;
        assert_eq!(states(&read)[all.len() - 1..], ["input-required", "canceled"], "{version}: {read}");
    }
}

/// A task as `tasks/get` gives it with a history, in less than the time limit for the statuses.
async fn at_once(running: &Running, version: &str, id: &Value) -> Value {
    let begin = Instant::now();
    let read = call(running, version, "tasks/get", &json!({"id": id, "historyLength": 5})).await;
    assert!(begin.elapsed() < Duration::from_secs(2), "{version}: {:?}", begin.elapsed());
    read
}

/// The first message of a task of 0.1 is a record of its own, behind the task.
#[tokio::test]
async fn a_silent_agent_does_not_delay_the_statuses() {
    let agent = agent_fn(|turn: nuncio_engine::Turn| async move {
        turn.cancelled().cancelled().await;
        Ok(())
    });
    let running = Running::of(Engine::builder(agent).card(card()).build(), |builder| builder).await;
    let [_, _, (version, send, message)] = rows();
    let sending = tokio::spawn(running.rpc(send, &message).header("a2a-version", version).fetch());
    let get = json!({"id": "own"});
    while running.rpc("tasks/get", &get).header("a2a-version", version).fetch().await.json().get("error").is_some() {
        sleep(Duration::from_millis(5)).await;
    }
    let read = at_once(&running, version, &json!("own")).await;
    assert_eq!(states(&read), ["submitted"], "{read}");
    sending.abort();
}

#[tokio::test]
async fn a_waiting_message_does_not_delay_the_statuses() {
    let running = keeping().await;
    let [_, _, (version, send, mut message)] = rows();
    message["message"]["parts"][0]["text"] = json!("silent");
    let sending = tokio::spawn(running.rpc(send, &message).header("a2a-version", version).fetch());
    let get = json!({"id": "own"});
    let state = async || {
        let read = running.rpc("tasks/get", &get).header("a2a-version", version).fetch().await.json();
        read["result"]["status"]["state"].as_str().map(str::to_owned)
    };
    super::client::until(async || state().await.as_deref() == Some("working")).await;
    let waiting = tokio::spawn(running.rpc(send, &message).header("a2a-version", version).fetch());
    let read = at_once(&running, version, &json!("own")).await;
    assert_eq!(states(&read), ["submitted", "working"], "{read}");
    sending.abort();
    waiting.abort();
}

#[tokio::test]
async fn a_task_whose_events_were_not_kept_has_its_last_status() {
    let running = Running::start().await;
    let message = json!({"id": "own", "message": {"role": "user", "parts": [{"type": "text", "text": "hello"}]}});
    call(&running, "0.1", "tasks/send", &message).await;
    let read = call(&running, "0.1", "tasks/get", &json!({"id": "own", "historyLength": 10})).await;
    assert_eq!(states(&read), ["completed"], "{read}");
}

#[tokio::test]
async fn the_card_of_0_1_says_so_if_the_agent_streams() {
    let streams = Running::start().await;
    let mut card = AgentCard::new("test", "Does not stream.");
    card.capabilities.streaming = Some(false);
    let agent = agent_fn(|turn: nuncio_engine::Turn| async move { turn.complete("done").await });
    let other = Running::of(Engine::builder(agent).card(card).build(), |builder| builder).await;
    for (running, expected) in [(&streams, true), (&other, false)] {
        let message = json!({"id": "own", "message": {"role": "user", "parts": [{"type": "text", "text": "hello"}]}});
        call(running, "0.1", "tasks/send", &message).await;
        let read = call(running, "0.1", "tasks/get", &json!({"id": "own", "historyLength": 10})).await;
        assert_eq!(read["metadata"].get(KEY).is_some(), expected, "{read}");
        let card = running.send("GET", "/.well-known/agent.json").without("a2a-version").fetch().await.json();
        let flag = &card["capabilities"]["stateTransitionHistory"];
        assert_eq!(flag.as_bool().unwrap_or_default(), expected, "{card}");
        // A strict reader of 1.0 refuses the flag.
        let card = running.send("GET", "/.well-known/agent-card.json").without("a2a-version").fetch().await.json();
        assert!(card["capabilities"].get("stateTransitionHistory").is_none(), "{card}");
    }
}
