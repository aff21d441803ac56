//! Streams that break and are resumed.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client, ClientBuilder, ClientError, End, Failure, Reconnect, Timeouts, Watch};
use nuncio_model::{ErrorKind, StreamEvent, StreamResponse, TaskState};
use serde_json::{Value, json};

use crate::fake::{Fake, Seen, chunk_event, not_found, sse, status, status_event, task, task_event};

fn builder() -> ClientBuilder {
    let mut reconnect = Reconnect::default();
    reconnect.attempts = 3;
    reconnect.first_delay = Duration::from_millis(5);
    Client::builder().reconnect(reconnect)
}

fn client(fake: &Fake) -> Client {
    builder().endpoint(&fake.url, Binding::HttpJson).unwrap()
}

/// Events as short texts, and the error at the end.
async fn drain(watch: &mut Watch) -> (Vec<String>, Option<ClientError>) {
    let mut words = Vec::new();
    while let Some(item) = watch.next().await {
        match item {
            Ok(event) => words.push(word(&event)),
            Err(error) => return (words, Some(error)),
        }
    }
    (words, None)
}

fn word(event: &Arc<StreamEvent>) -> String {
    match &event.response {
        StreamResponse::Task(task) => format!("task {}", task.state().short()),
        StreamResponse::StatusUpdate(update) => update.status.state.short().to_owned(),
        StreamResponse::ArtifactUpdate(update) => format!("chunk {}", update.artifact.text()),
        StreamResponse::Message(message) => format!("message {}", message.text()),
    }
}

fn is_subscription(seen: &Seen) -> bool {
    seen.path == "/tasks/t1:subscribe"
}

#[tokio::test]
async fn a_broken_stream_resumes_at_its_position() {
    let fake = Fake::start(|seen, _| match is_subscription(seen) {
        false => sse(&[(Some(1), task_event("TASK_STATE_SUBMITTED")), (Some(2), chunk_event("a"))], false),
        // An agent that stores the log sends the events after the id.
        true if seen.header("last-event-id") == "2" => sse(
            &[
                (Some(2), chunk_event("a")),
                (Some(3), chunk_event("b")),
                (Some(4), status_event("TASK_STATE_COMPLETED")),
            ],
            true,
        ),
        true => not_found(),
    })
    .await;
    let mut watch = client(&fake).send_stream("hi").await.unwrap();
    let (words, error) = drain(&mut watch).await;
    assert_eq!(words, ["task submitted", "chunk a", "chunk b", "completed"]);
    assert!(error.is_none());
    assert_eq!(watch.end(), Some(End::Terminal(TaskState::Completed)));
    assert_eq!((watch.task_id().unwrap().as_str(), watch.sequence()), ("t1", Some(4)));
    assert_eq!(fake.lines(), ["POST /message:stream", "POST /tasks/t1:subscribe"]);
}

#[tokio::test]
async fn an_agent_without_a_log_gives_a_snapshot() {
    let fake = Fake::start(|seen, _| {
        if is_subscription(seen) {
            sse(&[(None, task_event("TASK_STATE_WORKING")), (None, status_event("TASK_STATE_FAILED"))], true)
        } else {
            sse(&[(None, task_event("TASK_STATE_SUBMITTED"))], false)
        }
    })
    .await;
    let mut watch = client(&fake).send_stream("hi").await.unwrap();
    assert_eq!(drain(&mut watch).await.0, ["task submitted", "task working", "failed"]);
    assert_eq!(watch.end(), Some(End::Terminal(TaskState::Failed)));
}

#[tokio::test]
async fn a_stream_that_is_closed_early_is_resumed() {
    let fake = Fake::start(|seen, _| {
        if is_subscription(seen) {
            sse(&[(Some(2), status_event("TASK_STATE_COMPLETED"))], true)
        } else {
            sse(&[(Some(1), task_event("TASK_STATE_WORKING"))], true)
        }
    })
    .await;
    let mut watch = client(&fake).send_stream("hi").await.unwrap();
    assert_eq!(drain(&mut watch).await.0, ["task working", "completed"]);
}

#[tokio::test]
async fn a_task_that_ended_during_a_break_is_read() {
    let fake = Fake::start(|seen, _| match seen.path.as_str() {
        "/message:stream" => sse(&[(Some(1), task_event("TASK_STATE_WORKING"))], false),
        "/tasks/t1" => crate::fake::ok(&task("TASK_STATE_COMPLETED")),
        _ => {
            let reason = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "UNSUPPORTED_OPERATION", "domain": "a2a-protocol.org"}]);
            status(400, json!({"error": {"code": 400, "message": "it has ended", "details": reason}}).to_string())
        }
    })
    .await;
    let mut watch = client(&fake).send_stream("hi").await.unwrap();
    let (words, error) = drain(&mut watch).await;
    assert_eq!(words, ["task working", "task completed"]);
    assert!(error.is_none());
    assert_eq!(watch.end(), Some(End::Terminal(TaskState::Completed)));
}

/// An agent that does not know the cursor, answers with this error of a version, and has a snapshot.
async fn forgetful(version: &str, error: Value) -> (Vec<String>, Vec<bool>) {
    let wrap = version.starts_with('0');
    let fake = Fake::start(move |seen, _| {
        let result = |event: Value| json!({"jsonrpc": "2.0", "id": null, "result": event});
        let working = if wrap {
            json!({"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": "working"}})
        } else {
            task_event("TASK_STATE_WORKING")
        };
        let done = if wrap {
            let status = json!({"state": "completed"});
            json!({"kind": "status-update", "taskId": "t1", "contextId": "c1", "status": status, "final": true})
        } else {
            status_event("TASK_STATE_COMPLETED")
        };
        if seen.body.contains("tream") {
            return sse(&[(Some(7), result(working))], false);
        }
        if !seen.header("a2a-last-event-id").is_empty() {
            assert_eq!((seen.header("a2a-last-event-id"), seen.header("last-event-id")), ("7", "7"));
            return crate::fake::ok(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
        sse(&[(Some(2), result(working)), (Some(3), result(done))], true)
    })
    .await;
    let mut card = fake.card("JSONRPC");
    card["capabilities"]["extensions"] = json!([{"uri": nuncio_model::resume::URI}]);
    card["supportedInterfaces"][0]["protocolVersion"] = version.into();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    std::fs::write(&path, card.to_string()).unwrap();
    let client = builder().version(version).connect(path.to_str().unwrap()).await.unwrap();
    let mut watch = client.send_stream("hi").await.unwrap();
    let (words, error) = drain(&mut watch).await;
    assert!(error.is_none(), "{version}: {error:?}");
    (words, fake.calls().iter().map(|seen| !seen.header("a2a-last-event-id").is_empty()).collect())
}

#[tokio::test]
async fn an_unknown_position_is_replaced_by_a_snapshot() {
    let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_PARAMS",
        "domain": "a2a-protocol.org", "metadata": {"resume": "ahead", "taskId": "t1"}}]);
    let newest = json!({"code": -32602, "message": "beyond the end", "data": details});
    let older = json!({"code": -32602, "message": "beyond the end", "data": {"resume": "ahead", "taskId": "t1"}});
    for (version, error) in [("1.0", newest), ("0.3", older)] {
        let (words, cursors) = forgetful(version, error).await;
        assert_eq!(words, ["task working", "task working", "completed"], "{version}");
        assert_eq!(cursors, [false, true, false], "{version}");
    }
}

#[tokio::test]
async fn attempts_are_bounded() {
    let fake = Fake::start(|seen, _| {
        if is_subscription(seen) { status(503, "") } else { sse(&[(Some(1), task_event("TASK_STATE_WORKING"))], false) }
    })
    .await;
    let mut watch = client(&fake).send_stream("hi").await.unwrap();
    let (_, error) = drain(&mut watch).await;
    assert_eq!(error.unwrap().as_agent_error().unwrap().kind(), ErrorKind::Unavailable);
    assert_eq!(watch.end(), Some(End::Lost));
    assert_eq!(fake.seen().len(), 1 + 3);
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn an_interrupted_task_and_a_bare_message_are_ends() {
    let stream = |events: Vec<Value>| async move {
        let fake = Fake::start(move |_, _| {
            let events: Vec<_> = events.iter().map(|event| (None, event.clone())).collect();
            sse(&events, true)
        })
        .await;
        let mut watch = client(&fake).send_stream("hi").await.unwrap();
        let (words, error) = drain(&mut watch).await;
        assert!(error.is_none() && fake.seen().len() == 1);
        (words, watch.end().unwrap())
    };
    let (words, end) = stream(vec![task_event("TASK_STATE_WORKING"), status_event("TASK_STATE_INPUT_REQUIRED")]).await;
    assert_eq!((words.len(), end), (2, End::Interrupted(TaskState::InputRequired)));
    let message = json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hello"}]}});
    assert_eq!(stream(vec![message]).await, (vec!["message hello".to_owned()], End::Message));
}

#[tokio::test]
async fn a_stream_of_an_interrupted_task_is_resumed() {
    let fake = Fake::start(|seen, _| {
        if is_subscription(seen) {
            sse(&[(Some(4), status_event("TASK_STATE_COMPLETED"))], true)
        } else {
            sse(&[(Some(3), task_event("TASK_STATE_INPUT_REQUIRED"))], false)
        }
    })
    .await;
    let mut watch = client(&fake).send_stream("hi").await.unwrap();
    assert_eq!(drain(&mut watch).await.0, ["task input-required", "completed"]);
}

#[tokio::test]
async fn a_subscription_falls_back_to_get() {
    let fake = Fake::start(|seen, _| match seen.method.as_str() {
        "GET" => sse(&[(None, task_event("TASK_STATE_COMPLETED"))], true),
        _ => status(405, ""),
    })
    .await;
    let mut watch = client(&fake).watch("t1").await.unwrap();
    assert_eq!(drain(&mut watch).await.0, ["task completed"]);
    assert_eq!(fake.lines(), ["POST /tasks/t1:subscribe", "GET /tasks/t1:subscribe"]);
}

#[tokio::test]
async fn an_agent_without_streams_gives_one_answer() {
    let fake = Fake::start(|_, _| {
        crate::fake::ok(&json!({"jsonrpc": "2.0", "id": 1, "result": task_event("TASK_STATE_COMPLETED")}))
    })
    .await;
    let client = builder().endpoint(&fake.url, Binding::JsonRpc).unwrap();
    let mut watch = client.send_stream("hi").await.unwrap();
    assert_eq!(drain(&mut watch).await.0, ["task completed"]);
}

#[tokio::test]
async fn errors_arrive_before_and_within_a_stream() {
    let rpc_error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "no task"}});
    let before = rpc_error.clone();
    let fake = Fake::start(move |_, _| crate::fake::ok(&before)).await;
    let client = builder().endpoint(&fake.url, Binding::JsonRpc).unwrap();
    let error = client.send_stream("hi").await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::TaskNotFound);

    let first = json!({"jsonrpc": "2.0", "id": 1, "result": task_event("TASK_STATE_WORKING")});
    let fake = Fake::start(move |_, _| sse(&[(None, first.clone()), (None, rpc_error.clone())], true)).await;
    let client = builder().endpoint(&fake.url, Binding::JsonRpc).unwrap();
    let (words, error) = drain(&mut client.send_stream("hi").await.unwrap()).await;
    assert_eq!(words, ["task working"]);
    assert_eq!(error.unwrap().as_agent_error().unwrap().kind(), ErrorKind::TaskNotFound);
    assert_eq!(fake.seen().len(), 1, "an error of the agent is not requested again");

    let error = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no task"}});
    let fake = Fake::start(move |_, _| sse(&[(None, error.clone())], true)).await;
    let (_, error) = drain(&mut self::client(&fake).send_stream("hi").await.unwrap()).await;
    assert_eq!(error.unwrap().as_agent_error().unwrap().kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn an_error_of_the_agent_is_not_a_lost_stream() {
    let rest = |message: &str| json!({"error": {"code": 500, "status": "INTERNAL", "message": message}});
    let unreadable = json!({"task": 5});
    for (second, is_whole, subscription, end, requests) in [
        (Some(rest("boom")), true, 200, End::Failed, 1),
        (Some(unreadable), true, 200, End::Lost, 1),
        (None, false, 400, End::Lost, 1 + 1),
        (None, false, 503, End::Lost, 1 + 3),
    ] {
        let refusal = if subscription == 503 { String::new() } else { rest("not here").to_string() };
        let fake = Fake::start(move |seen, _| {
            if is_subscription(seen) {
                return status(subscription, refusal.clone());
            }
            let events = [Some(task_event("TASK_STATE_WORKING")), second.clone()];
            let events: Vec<_> = events.into_iter().flatten().map(|event| (None, event)).collect();
            sse(&events, is_whole)
        })
        .await;
        let mut watch = client(&fake).send_stream("hi").await.unwrap();
        let (words, error) = drain(&mut watch).await;
        assert_eq!((words.len(), error.is_some(), watch.end()), (1, true, Some(end)), "{error:?}");
        assert_eq!(fake.seen().len(), requests, "{error:?}");
    }
}

#[tokio::test]
async fn a_silent_stream_counts_as_broken_with_an_idle_limit() {
    let fake = Fake::start(|_, _| {
        let first = format!("data: {}\n\n", task_event("TASK_STATE_WORKING"));
        let body = futures_util::stream::iter([Ok::<_, std::io::Error>(first)]).chain(futures_util::stream::pending());
        let body = axum::body::Body::from_stream(body);
        axum::response::IntoResponse::into_response(([(http::header::CONTENT_TYPE, "text/event-stream")], body))
    })
    .await;
    let timeouts = Timeouts::default().with_idle(Duration::from_millis(50));
    let builder = Client::builder().reconnect(Reconnect::never()).timeouts(timeouts);
    let mut watch = builder.endpoint(&fake.url, Binding::HttpJson).unwrap().send_stream("hi").await.unwrap();
    let (words, error) = drain(&mut watch).await;
    assert_eq!(words, ["task working"]);
    assert!(matches!(error, Some(ClientError::Transport(Failure::TimedOut { .. }))), "{error:?}");
}

#[tokio::test]
async fn all_bare_messages_of_a_stream_are_returned() {
    let message = |parts: Value| (None, json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": parts}}));
    let events = [message(json!([])), message(json!([{"text": "AN"}])), message(json!([{"text": "SWER"}]))];
    let fake = Fake::start(move |_, _| sse(&events, true)).await;
    let mut watch = client(&fake).send_stream("hello").await.unwrap();
    let (words, error) = drain(&mut watch).await;
    assert_eq!(words, ["message ", "message AN", "message SWER"]);
    assert!(error.is_none() && watch.end() == Some(End::Message));
}

#[tokio::test]
async fn an_event_of_another_task_is_ignored() {
    let other =
        json!({"statusUpdate": {"taskId": "OTHER", "contextId": "c1", "status": {"state": "TASK_STATE_COMPLETED"}}});
    let whole = json!({"task": {"id": "OTHER", "contextId": "c1", "status": {"state": "TASK_STATE_COMPLETED"}}});
    for foreign in [other, whole] {
        let fake = Fake::start(move |_, _| {
            let first = task_event("TASK_STATE_WORKING");
            let last = status_event("TASK_STATE_COMPLETED");
            sse(&[(None, first), (None, foreign.clone()), (None, chunk_event("a")), (None, last)], true)
        })
        .await;
        let mut watch = client(&fake).send_stream("hello").await.unwrap();
        let (words, error) = drain(&mut watch).await;
        assert_eq!(words, ["task working", "chunk a", "completed"]);
        assert!(error.is_none() && watch.end() == Some(End::Terminal(TaskState::Completed)));
    }
}
