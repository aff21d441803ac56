//! Agents with an unknown state of a task: the client reports the state and does not wait.

use std::time::Duration;

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client, End};
use nuncio_model::{
    TaskState,
    op::{GetTaskRequest, SendMessageResponse},
};
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
async fn an_unknown_state_of_1_0_does_not_block() {
    let status = json!({"state": "TASK_STATE_PONDERING"});
    let plain = json!({"id": "t1", "contextId": "c1", "status": status});
    let fake = Fake::start(move |seen, _| {
        let call = seen.json();
        let result = if call["method"] == "GetTask" { plain.clone() } else { json!({ "task": plain }) };
        ok(&json!({"jsonrpc": "2.0", "id": call["id"], "result": result}))
    })
    .await;
    let client = client(&fake);
    let SendMessageResponse::Task(task) = soon(client.send("hello")).await.unwrap() else { panic!("no task") };
    assert_eq!(task.state(), TaskState::Unspecified);
    let mut poll = client.poll(GetTaskRequest::new("t1")).every(Duration::from_millis(10));
    let mut answers = 0;
    soon(async {
        while let Some(task) = poll.next().await {
            assert_eq!(task.unwrap().state(), TaskState::Unspecified);
            answers += 1;
        }
    })
    .await;
    assert_eq!(answers, 16, "the same answer is not asked for any more");
}

#[tokio::test]
async fn a_stream_continues_after_an_unknown_state() {
    let event =
        |state: &str| answer(&json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": state}}}));
    let working = json!({"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}});
    let first = answer(&json!({ "task": working }));
    let (unknown, last) = (event("TASK_STATE_PONDERING"), event("TASK_STATE_COMPLETED"));
    let fake =
        Fake::start(move |_, _| sse(&[(None, first.clone()), (None, unknown.clone()), (None, last.clone())], true))
            .await;
    let mut watch = client(&fake).send_stream("hello").await.unwrap();
    let mut states = Vec::new();
    soon(async {
        while let Some(event) = watch.next().await {
            states.push(event.map(|_| watch.state()).unwrap());
        }
    })
    .await;
    assert_eq!(states, [TaskState::Working, TaskState::Unspecified, TaskState::Completed].map(Some));
    assert_eq!(watch.end(), Some(End::Terminal(TaskState::Completed)));
}

#[tokio::test]
async fn an_unknown_state_before_1_0_ends_the_wait() {
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

/// An unknown state of 1.0 is neither an end nor an interruption. A missing state means the same.
#[tokio::test]
async fn a_task_of_1_0_without_a_state_is_polled_and_its_stream_continues() {
    for state in [json!("TASK_STATE_UNSPECIFIED"), json!(0), json!(null)] {
        let task = move |state: &Value| json!({"id": "t1", "contextId": "c1", "status": {"state": state}});
        let fake = Fake::start(move |_, fake| {
            let is_done = fake.seen().len() >= 2;
            let id = fake.seen().len() + 1;
            let state = if is_done { json!("TASK_STATE_COMPLETED") } else { state.clone() };
            ok(&json!({"jsonrpc": "2.0", "id": id, "result": task(&state)}))
        })
        .await;
        let mut poll = client(&fake).poll(GetTaskRequest::new("t1")).every(Duration::from_millis(10));
        for expected in [TaskState::Unspecified, TaskState::Unspecified, TaskState::Completed] {
            assert_eq!(soon(poll.next()).await.unwrap().unwrap().state(), expected);
        }
        assert!(soon(poll.next()).await.is_none());
    }
    let update =
        |state: &str| answer(&json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": state}}}));
    let events = [update("TASK_STATE_UNSPECIFIED"), update("TASK_STATE_COMPLETED")].map(|event| (None, event));
    let fake = Fake::start(move |_, _| sse(&events, true)).await;
    let mut watch = client(&fake).send_stream("hello").await.unwrap();
    let mut count = 0;
    while let Some(event) = soon(watch.next()).await {
        event.unwrap();
        count += 1;
    }
    assert_eq!((count, watch.end()), (2, Some(End::Terminal(TaskState::Completed))));
}

#[tokio::test]
async fn an_earlier_interruption_can_be_ignored_by_a_poll() {
    let fake = Fake::start(|_, fake| {
        let id = fake.seen().len() + 1;
        let (state, second) = match id {
            1 | 2 => ("TASK_STATE_INPUT_REQUIRED", 1),
            3 => ("TASK_STATE_WORKING", 2),
            _ => ("TASK_STATE_INPUT_REQUIRED", 3),
        };
        let status = json!({"state": state, "timestamp": format!("2026-01-01T00:00:0{second}Z")});
        ok(&json!({"jsonrpc": "2.0", "id": id, "result": {"id": "t1", "contextId": "c1", "status": status}}))
    })
    .await;
    let client = client(&fake);
    let mut poll = client.poll(GetTaskRequest::new("t1")).every(Duration::from_millis(10)).through(None);
    let mut states = Vec::new();
    while let Some(task) = soon(poll.next()).await {
        states.push(task.unwrap().state());
    }
    let asks = TaskState::InputRequired;
    assert_eq!(states, [asks, asks, TaskState::Working, asks]);
    let mut poll = client.poll(GetTaskRequest::new("t1")).every(Duration::from_millis(10));
    assert!(soon(poll.next()).await.is_some());
    assert!(soon(poll.next()).await.is_none(), "without the option an interruption is an end");
}
