//! Cards that fit 1.0 and 0.3.

use std::sync::{Arc, Mutex};

use nuncio_client::{Client, Version};
use nuncio_model::{TaskState, op::SendMessageResponse};
use serde_json::{Value, json};

use crate::fake::{Fake, ok};

/// The two kinds of such cards: an interface without a version, and a version of 1.0 with only `url`.
fn cards(url: &str) -> [Value; 2] {
    let common = json!({"name": "a", "description": "b", "version": "1", "capabilities": {"streaming": true},
        "defaultInputModes": [], "defaultOutputModes": [], "skills": []});
    let mut unsaid = common.clone();
    unsaid["supportedInterfaces"] = json!([{"url": url, "protocolBinding": "JSONRPC"}]);
    let mut wrong = common;
    wrong["url"] = url.into();
    wrong["protocolVersion"] = "1.0".into();
    [unsaid, wrong]
}

/// An agent with one of these cards, and one version.
async fn agent(card: usize, speaks: &'static str) -> Fake {
    Fake::start(move |seen, fake| {
        if seen.path.contains(".well-known") {
            return ok(&cards(&fake.url)[card]);
        }
        let body = seen.json();
        let task = json!({"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": "completed"}});
        let outcome = match (body["method"].as_str().unwrap(), speaks) {
            ("message/send", "0.3") => json!({"result": task}),
            ("SendMessage", "1.0") => {
                json!({"result": {"task": {"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}}}})
            }
            _ => json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": body["id"]});
        answer.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
        ok(&answer)
    })
    .await
}

fn methods(fake: &Fake) -> Vec<String> {
    fake.calls().iter().map(|seen| seen.json()["method"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_agent_that_does_not_know_1_0_is_called_in_0_3() {
    for card in [0, 1] {
        let fake = agent(card, "0.3").await;
        let observed: Arc<Mutex<Vec<Version>>> = Arc::default();
        let seen = observed.clone();
        let builder = Client::builder().on_interface(move |_, version| seen.lock().unwrap().push(version));
        let client = builder.connect(fake.url.as_str()).await.unwrap();
        assert_eq!(client.version(), Some(Version::V1_0));
        for _ in 0..2 {
            let SendMessageResponse::Task(task) = client.send("hello").await.unwrap() else { panic!("no task") };
            assert_eq!(task.state(), TaskState::Completed);
        }
        assert_eq!(methods(&fake), ["SendMessage", "message/send", "message/send"], "tried once");
        assert_eq!((client.version(), &observed.lock().unwrap()[..]), (Some(Version::V0_3), &[Version::V0_3][..]));
    }
}

#[tokio::test]
async fn an_agent_that_knows_1_0_or_neither_gets_no_further_calls() {
    for card in [0, 1] {
        let fake = agent(card, "1.0").await;
        let client = Client::connect(fake.url.as_str()).await.unwrap();
        client.send("hello").await.unwrap();
        client.task("t1").await.unwrap_err();
        assert_eq!(methods(&fake), ["SendMessage", "GetTask"]);
        let fake = agent(card, "none").await;
        let error = Client::connect(fake.url.as_str()).await.unwrap().send("hello").await.unwrap_err();
        assert_eq!(methods(&fake), ["SendMessage", "message/send"]);
        assert!(error.to_string().contains("Method not found"));
    }
}

#[tokio::test]
async fn a_pinned_version_decides() {
    for card in [0, 1] {
        let fake = agent(card, "0.3").await;
        let client = Client::builder().version("0.3").connect(fake.url.as_str()).await.unwrap();
        client.send("hello").await.unwrap();
        assert_eq!(methods(&fake), ["message/send"]);
        let fake = agent(card, "0.3").await;
        let client = Client::builder().version("1.0").connect(fake.url.as_str()).await.unwrap();
        client.send("hello").await.unwrap_err();
        assert_eq!(methods(&fake), ["SendMessage"], "a pin takes nothing else");
    }
}
