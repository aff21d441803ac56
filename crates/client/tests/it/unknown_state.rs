//! Agents that speak of a state that nobody knows: the client says so at once, and waits for nothing.

use std::time::Duration;

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client};
use nuncio_model::{ErrorKind, TaskState, op::GetTaskRequest};
use serde_json::{Value, json};

use crate::fake::{Fake, ok, sse};

fn client(fake: &Fake) -> Client {
    Client::builder().version("1.0").endpoint(&format!("{}/", fake.url), Binding::JsonRpc).unwrap()
}

fn answer(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

async fn soon<T>(waits: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), waits).await.expect("nobody waits")
}

#[tokio::test]
async fn a_state_that_is_not_known_in_1_0_makes_nobody_wait() {
    let status = json!({"state": "TASK_STATE_PONDERING"});
    let task = answer(&json!({"task": {"id": "t1", "contextId": "c1", "status": status}}));
    let fake = Fake::start(move |_, _| ok(&task)).await;
    let error = soon(client(&fake).send("hello")).await.unwrap_err();
    let error = error.as_agent_error().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    assert!(error.message().contains("TASK_STATE_PONDERING"), "{error}");
    assert_eq!(fake.seen().len(), 1, "it is not asked again");

    let update = answer(&json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": status}}));
    let working = json!({"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}});
    let first = answer(&json!({"task": working}));
    let fake = Fake::start(move |_, _| sse(&[(None, first.clone()), (None, update.clone())], true)).await;
    let mut watch = client(&fake).send_stream("hello").await.unwrap();
    let failed = soon(async {
        loop {
            match watch.next().await {
                Some(Ok(_)) => {}
                last => return last,
            }
        }
    });
    let error = failed.await.expect("an error").unwrap_err();
    assert!(error.to_string().contains("TASK_STATE_PONDERING"), "{error}");
}

#[tokio::test]
async fn a_task_before_1_0_whose_state_is_not_known_is_not_waited_for() {
    for version in ["0.3", "0.2", "0.1"] {
        for state in [json!("unknown"), json!("pondering"), json!(""), json!(null)] {
            let task =
                json!({"kind": "task", "id": "t1", "contextId": "c1", "sessionId": "c1", "status": {"state": state}});
            let fake = Fake::start(move |_, _| ok(&answer(&task))).await;
            let client =
                Client::builder().version(version).endpoint(&format!("{}/", fake.url), Binding::JsonRpc).unwrap();
            let mut poll = client.poll(GetTaskRequest::new("t1"));
            assert_eq!(soon(poll.next()).await.unwrap().unwrap().state(), TaskState::Unspecified, "{version} {state}");
            assert!(soon(poll.next()).await.is_none(), "{version} {state}");
        }
    }
}
