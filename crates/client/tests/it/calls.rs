//! Operations, answers and errors over JSON-RPC and HTTP+JSON.

use std::time::Duration;

use axum::response::IntoResponse as _;
use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client, ClientError, Failure, HttpSettings, PeerCode, Reconnect, Timeouts, Version};
use nuncio_model::{ErrorKind, Message, op::SendMessageResponse};
use serde_json::{Value, json};

use crate::fake::{Fake, ok, sse, status, task, task_event};

async fn answering(binding: Binding, answer: impl Fn() -> axum::response::Response + Send + Sync + 'static) -> Client {
    let fake = Fake::start(move |_, _| answer()).await;
    Client::builder().endpoint(&fake.url, binding).unwrap()
}

fn result(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": null, "result": result})
}

#[tokio::test]
async fn a_text_is_sent_as_the_users_message() {
    let fake = Fake::start(|_, _| ok(&result(&json!({"task": task("TASK_STATE_COMPLETED")})))).await;
    let client = Client::builder().endpoint(&fake.url, Binding::JsonRpc).unwrap();
    let SendMessageResponse::Task(task) = client.send("hello").await.unwrap() else { panic!("not a task") };
    assert_eq!(task.id, "t1");
    let sent = fake.seen()[0].json();
    assert_eq!((&sent["method"], &sent["jsonrpc"]), (&json!("SendMessage"), &json!("2.0")));
    assert_eq!(sent["params"]["message"]["role"], "ROLE_USER");
    assert_eq!(sent["params"]["message"]["parts"], json!([{"text": "hello"}]));
    client.send(Message::user("again")).await.unwrap();
    assert_ne!(fake.seen()[1].json()["id"], sent["id"]);
}

#[tokio::test]
async fn a_deletion_may_be_answered_in_three_ways() {
    for body in ["", "{}", "null"] {
        let client = answering(Binding::HttpJson, move || status(200, body)).await;
        client.delete_push_config("t1", "p1").await.unwrap();
    }
    answering(Binding::HttpJson, || status(204, "")).await.delete_push_config("t1", "p1").await.unwrap();
    answering(Binding::JsonRpc, || ok(&result(&Value::Null))).await.delete_push_config("t1", "p1").await.unwrap();
}

#[tokio::test]
async fn an_error_of_the_protocol_keeps_its_details() {
    let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
        "domain": "a2a-protocol.org", "metadata": {"taskId": "t1"}}]);
    let rpc = json!({"jsonrpc": "2.0", "id": 1,
        "error": {"code": -32001, "message": "no such task", "data": details}});
    let rest = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no such task", "details": details}});
    let rest = move || status(404, rest.to_string());
    for (client, code) in [
        (answering(Binding::JsonRpc, move || ok(&rpc)).await, PeerCode::JsonRpc(-32001)),
        (answering(Binding::HttpJson, rest).await, PeerCode::Http(404)),
    ] {
        let error = client.task("t1").await.unwrap_err();
        let error = error.as_agent_error().unwrap();
        assert_eq!((error.kind(), error.message()), (ErrorKind::TaskNotFound, "no such task"));
        assert_eq!(error.metadata()["taskId"], "t1");
        assert_eq!(error.peer_details().unwrap().len(), 1);
        assert_eq!(PeerCode::of(error), Some(code));
    }
}

#[tokio::test]
async fn the_code_of_an_error_is_kept_also_if_unknown() {
    let rpc =
        |code: Value| json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": "mine", "data": "x"}});
    for version in Version::ALL {
        for (code, expected) in [
            (json!(-32050), Some(-32050)),
            (json!(7), Some(7)),
            (json!(-32603), Some(-32603)),
            (json!("E1"), None),
            (Value::Null, None),
        ] {
            let expected = expected.map(PeerCode::JsonRpc);
            let (whole, event) = (rpc(code.clone()), rpc(code));
            let fake = Fake::start(move |seen, _| {
                let streams = seen.body.contains("tream") || seen.body.contains("Subscribe");
                if streams { sse(&[(None, event.clone())], true) } else { ok(&whole) }
            })
            .await;
            let builder = Client::builder().reconnect(Reconnect::never()).version(version.as_str());
            let client = builder.endpoint(&fake.url, Binding::JsonRpc).unwrap();
            let error = client.task("t1").await.unwrap_err();
            let error = error.as_agent_error().unwrap();
            assert_eq!((error.message(), PeerCode::of(error)), ("mine", expected), "{version}");
            let error = match client.send_stream("x").await {
                Ok(mut watch) => watch.next().await.unwrap().unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(PeerCode::of(error.as_agent_error().unwrap()), expected, "{version}, in a stream");
        }
    }
    let client = answering(Binding::HttpJson, || status(418, r#"{"error": {"code": 418, "message": "mine"}}"#)).await;
    let error = client.task("t1").await.unwrap_err();
    assert_eq!(PeerCode::of(error.as_agent_error().unwrap()), Some(PeerCode::Http(418)));
    let grpc = || ([("content-type", "application/grpc"), ("grpc-status", "10"), ("grpc-message", "mine")], "");
    let client = answering(Binding::Grpc, move || grpc().into_response()).await;
    let error = client.task("t1").await.unwrap_err();
    let error = error.as_agent_error().unwrap();
    assert_eq!((error.message(), PeerCode::of(error)), ("mine", Some(PeerCode::Grpc(10))));
}

#[tokio::test]
async fn an_answer_of_a_proxy_is_reported_as_such() {
    for binding in [Binding::JsonRpc, Binding::HttpJson] {
        for (code, kind) in [
            (401, ErrorKind::Unauthenticated),
            (403, ErrorKind::PermissionDenied),
            (429, ErrorKind::ResourceExhausted),
            (502, ErrorKind::Unavailable),
        ] {
            let client = answering(binding, move || status(code, "<h1>no</h1>")).await;
            let error = client.task("t1").await.unwrap_err();
            let error = error.as_agent_error().unwrap();
            assert_eq!((error.kind(), PeerCode::of(error)), (kind, Some(PeerCode::Http(code))), "{binding}");
        }
        let client = answering(binding, || status(200, "<h1>hello</h1>")).await;
        let error = client.task("t1").await.unwrap_err();
        assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::InvalidAgentResponse);
    }
}

#[tokio::test]
async fn waits_and_sizes_are_bounded() {
    let fake = Fake::start(|_, _| ok(&json!({"id": "x".repeat(2000)}))).await;
    let mut settings = HttpSettings::default();
    settings.max_message = 1000;
    let client = Client::builder().http(settings).endpoint(&fake.url, Binding::HttpJson).unwrap();
    let error = client.task("t1").await.unwrap_err();
    assert!(matches!(error, ClientError::Transport(Failure::TooLarge { limit: 1000, .. })), "{error:?}");

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let timeouts = Timeouts::default().with_answer(Duration::from_millis(50));
    let client = Client::builder().timeouts(timeouts).endpoint(&silent, Binding::HttpJson).unwrap();
    let error = client.task("t1").await.unwrap_err();
    assert!(matches!(error, ClientError::Transport(Failure::TimedOut { .. })), "{error:?}");
}

#[tokio::test]
async fn a_task_is_polled_until_it_ends() {
    let fake = Fake::start(|_, fake| match fake.seen().len() {
        0 => ok(&task("TASK_STATE_SUBMITTED")),
        1 => status(503, ""),
        2 => ok(&task("TASK_STATE_WORKING")),
        _ => ok(&task("TASK_STATE_INPUT_REQUIRED")),
    })
    .await;
    let client = Client::builder().endpoint(&fake.url, Binding::HttpJson).unwrap();
    let mut poll = client.poll(nuncio_model::op::GetTaskRequest::new("t1")).every(Duration::from_millis(10));
    let mut states = Vec::new();
    while let Some(task) = poll.next().await {
        states.push(task.unwrap().state().short());
    }
    assert_eq!(states, ["submitted", "working", "input-required"]);
}

#[tokio::test]
async fn an_answer_to_another_request_is_an_error() {
    let of = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": task_event("TASK_STATE_COMPLETED")});
    for (id, is_own) in
        [(json!(1), true), (json!("1"), true), (json!(null), true), (json!(99), false), (json!("x"), false)]
    {
        let fake = Fake::start({
            let answer = of(id.clone());
            move |_, _| ok(&answer)
        })
        .await;
        let client = || Client::builder().endpoint(&fake.url, Binding::JsonRpc).unwrap();
        let sent = client().send("hi").await;
        let stream = Fake::start({
            let answer = of(id.clone());
            move |_, _| sse(&[(None, answer.clone())], true)
        })
        .await;
        let mut watch =
            Client::builder().endpoint(&stream.url, Binding::JsonRpc).unwrap().send_stream("hi").await.unwrap();
        let event = watch.next().await.unwrap();
        if is_own {
            assert!(sent.is_ok() && event.is_ok(), "{id}: {sent:?} {event:?}");
            continue;
        }
        for error in [sent.unwrap_err(), event.unwrap_err()] {
            let error = error.as_agent_error().unwrap().clone();
            assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{id}");
            assert_eq!(error.message(), format!("the agent's answer has the id {id}, but the request has the id 1"));
        }
    }
}
