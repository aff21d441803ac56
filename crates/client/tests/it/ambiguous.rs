//! Cards that fit 0.1 and 0.2: the client asks the agent.

use nuncio_client::Client;
use serde_json::{Value, json};

use crate::fake::{Fake, Seen, ok, status};

/// An agent with such a card, with `more` members, and these answers.
async fn agent(more: Value, answer: fn(&Seen) -> Value) -> Fake {
    Fake::start(move |seen, fake| match seen.path.as_str() {
        "/.well-known/agent.json" => {
            let mut card = json!({"name": "Old", "description": "of a test", "url": fake.url, "version": "1",
                "capabilities": {"streaming": false}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
                "skills": []});
            let more = more.as_object().unwrap().clone();
            card.as_object_mut().unwrap().extend(more);
            ok(&card)
        }
        path if path.contains(".well-known") => status(404, ""),
        _ => match answer(seen) {
            Value::Null => status(401, "who?"),
            answer => ok(&answer),
        },
    })
    .await
}

fn method(seen: &Seen) -> String {
    seen.json()["method"].as_str().unwrap().to_owned()
}

fn error(code: i32) -> Value {
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": "no"}})
}

fn result(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": null, "result": result})
}

/// The answers of an agent of 0.2.0.
fn second(seen: &Seen) -> Value {
    match &*method(seen) {
        "tasks/pushNotificationConfig/get" => error(-32001),
        "message/send" => result(&json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}})),
        _ => error(-32600),
    }
}

/// The answers of an agent of 0.1.
fn first(seen: &Seen) -> Value {
    match &*method(seen) {
        "tasks/send" => result(&json!({"id": "t", "sessionId": "c", "status": {"state": "completed"}})),
        _ => error(-32601),
    }
}

async fn said(fake: &Fake, version: &str) -> Vec<String> {
    let client = Client::connect(&fake.url).await.unwrap();
    assert_eq!(client.version().unwrap().as_str(), version);
    assert!(client.interface().unwrap().protocol_version.starts_with(version));
    client.send("hello").await.unwrap();
    fake.calls().iter().map(method).collect()
}

#[tokio::test]
async fn an_agent_of_0_2_is_called_in_0_2() {
    let methods = said(&agent(json!({}), second).await, "0.2").await;
    assert_eq!(methods, ["tasks/pushNotificationConfig/get", "message/send"]);
}

#[tokio::test]
async fn an_agent_of_0_1_is_called_in_0_1() {
    let methods = said(&agent(json!({}), first).await, "0.1").await;
    assert_eq!(methods, ["tasks/pushNotificationConfig/get", "tasks/send"]);
}

#[tokio::test]
async fn a_card_with_a_version_is_not_checked() {
    let schemes = json!({"authentication": {"schemes": ["Bearer"]}});
    assert_eq!(said(&agent(schemes, first).await, "0.1").await, ["tasks/send"]);
    let declared = json!({"protocolVersion": "0.2.5"});
    assert_eq!(said(&agent(declared, second).await, "0.2").await, ["message/send"]);
}

#[tokio::test]
async fn a_pinned_version_is_not_checked() {
    for (version, answer) in [("0.1", first as fn(&Seen) -> Value), ("0.2", second)] {
        let fake = agent(json!({}), answer).await;
        let client = Client::builder().version(version).connect(&fake.url).await.unwrap();
        assert_eq!((client.version().unwrap().as_str(), fake.calls().len()), (version, 0));
        client.send("hello").await.unwrap();
    }
}

#[tokio::test]
async fn an_unclear_answer_does_not_change_the_version() {
    let fake = agent(json!({}), |_| Value::Null).await;
    let client = Client::connect(&fake.url).await.unwrap();
    assert_eq!(client.version().unwrap().as_str(), "0.1");
}
