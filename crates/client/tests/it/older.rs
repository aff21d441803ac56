//! Agents of 0.2 and 0.3.

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client, End};
use nuncio_model::{
    ErrorKind, TaskPushNotificationConfig, TaskState,
    op::{ListTasksRequest, SendMessageResponse},
};
use serde_json::{Value, json};

use crate::fake::{Fake, ok, sse, status};

fn client(fake: &Fake, version: &str, path: &str) -> Client {
    let url = format!("{}{path}", fake.url);
    Client::builder().version(version).endpoint(&url, Binding::JsonRpc).unwrap()
}

fn task() -> Value {
    json!({
        "id": "t1", "contextId": "c1", "status": {"state": "completed"}, "kind": "task",
        "history": [{"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]}],
    })
}

#[tokio::test]
async fn requests_and_answers_have_the_format_of_0_3() {
    let fake = Fake::start(|_, _| ok(&json!({"jsonrpc": "2.0", "id": 1, "result": task()}))).await;
    let client = client(&fake, "0.3", "/");
    let SendMessageResponse::Task(sent) = client.send("hello").await.unwrap() else { panic!("not a task") };
    assert_eq!((sent.id.as_str(), sent.history.len()), ("t1", 1));
    let seen = fake.seen()[0].json();
    assert_eq!(seen["method"], "message/send");
    assert_eq!(seen["params"]["message"]["kind"], "message");
    assert_eq!(seen["params"]["configuration"]["blocking"], true);

    let error = client.tasks(ListTasksRequest::default()).await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn the_extended_card_of_0_2_is_at_its_own_path() {
    for (path, seen) in
        [("/", "/agent/authenticatedExtendedCard"), ("/a2a/rpc", "/a2a/agent/authenticatedExtendedCard")]
    {
        let fake = Fake::start(|_, fake| {
            ok(&json!({"name": "Old", "description": "of 0.2", "version": "1", "url": fake.url, "skills": [],
                "capabilities": {}, "defaultInputModes": ["text"], "defaultOutputModes": ["text"]}))
        })
        .await;
        let card = client(&fake, "0.2", path).extended_card().await.unwrap();
        assert_eq!((card.name.as_str(), fake.lines()), ("Old", vec![format!("GET {seen}")]));
    }
    let fake = Fake::start(|_, _| status(401, "who?")).await;
    let error = client(&fake, "0.2", "/").extended_card().await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::Unauthenticated);
}

#[tokio::test]
async fn an_error_in_place_of_the_first_event_is_the_error_of_the_call() {
    let refusal = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32004, "message": "no streams"}});
    for version in ["0.3", "0.2"] {
        let refused = refusal.clone();
        let fake = Fake::start(move |_, _| sse(&[(None, refused.clone())], true)).await;
        let error = client(&fake, version, "/").send_stream("hello").await.map(|_| ()).unwrap_err();
        assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::UnsupportedOperation);
        assert_eq!(error.as_agent_error().unwrap().message(), "no streams");
    }
}

fn rest(fake: &Fake) -> Client {
    Client::builder().version("0.3").endpoint(&fake.url, Binding::HttpJson).unwrap()
}

fn hook() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: Some("t1".into()),
        id: Some("mine".into()),
        url: "https://example.com/hook".into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_webhook_that_is_refused_in_one_form_is_registered_in_the_other() {
    let bare = json!({
        "name": "tasks/t1/pushNotificationConfigs/mine",
        "pushNotificationConfig": {"id": "mine", "url": "https://example.com/hook"},
    });
    let wanted = bare.clone();
    let fake = Fake::start(move |request, _| {
        if request.json() == wanted { ok(&wanted) } else { status(400, r#"{"code": -32602, "message": "wrong"}"#) }
    })
    .await;
    let made = rest(&fake).create_push_config(hook()).await.unwrap();
    assert_eq!((made.task_id, made.id), (hook().task_id, hook().id));
    let seen = fake.seen();
    assert_eq!(seen[0].json()["configId"], "mine");
    assert_eq!((seen.len(), seen[1].json()), (2, bare));
}

#[tokio::test]
async fn a_webhook_that_is_refused_in_both_forms_is_refused_for_the_first_reason() {
    let fake = Fake::start(|request, _| {
        let reason = if request.json()["config"].is_object() { "that address is private" } else { "no such form" };
        status(400, json!({"code": -32602, "message": reason}).to_string())
    })
    .await;
    let error = rest(&fake).create_push_config(hook()).await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().message(), "that address is private");
    assert_eq!(fake.seen().len(), 2);
}

#[tokio::test]
async fn an_answer_without_a_result_is_accepted_for_operations_without_a_result() {
    for version in ["1.0", "0.3", "0.2"] {
        let fake = Fake::start(|_, _| ok(&json!({"jsonrpc": "2.0", "id": 1}))).await;
        let client = client(&fake, version, "/");
        client.delete_push_config("t1", "mine").await.unwrap();
        let error = client.task("t1").await.unwrap_err();
        assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::InvalidAgentResponse, "{version}");
    }
}

#[tokio::test]
async fn a_task_without_an_id_is_an_error() {
    for (version, binding, answer) in [
        ("1.0", Binding::JsonRpc, json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        ("0.3", Binding::JsonRpc, json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        ("0.1", Binding::JsonRpc, json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        ("0.3", Binding::HttpJson, json!({})),
    ] {
        let fake = Fake::start(move |_, _| ok(&answer)).await;
        let client = Client::builder().version(version).endpoint(&fake.url, binding).unwrap();
        let error = client.task("t1").await.unwrap_err();
        assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::InvalidAgentResponse, "{version}: {error}");
    }
}

#[tokio::test]
async fn an_unknown_state_ends_a_stream_if_marked_as_last() {
    let status = json!({"state": "pondering"});
    for (version, event) in [
        ("0.3", json!({"kind": "status-update", "taskId": "t1", "contextId": "c1", "status": status, "final": true})),
        ("0.1", json!({"id": "t1", "status": status, "final": true})),
    ] {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": event});
        let fake = Fake::start(move |_, _| sse(&[(None, answer.clone())], true)).await;
        let mut watch = client(&fake, version, "/").send_stream("hello").await.unwrap();
        let reading = async {
            while let Some(event) = watch.next().await {
                event.unwrap();
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(10), reading).await.expect("it ends");
        assert_eq!(watch.end(), Some(End::Terminal(TaskState::Unspecified)), "{version}");
        assert_eq!(fake.seen().len(), 1, "{version}: it is not asked again");
    }
}

#[tokio::test]
async fn an_empty_stream_is_an_error_and_stays_ended() {
    for version in ["1.0", "0.3", "0.2", "0.1"] {
        let fake = Fake::start(|seen, _| match seen.json()["method"].as_str() {
            Some("tasks/get" | "GetTask") => {
                ok(&json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "no"}}))
            }
            _ => sse(&[], true),
        })
        .await;
        let mut quick = nuncio_client::Reconnect::default();
        quick.attempts = 1;
        let builder = Client::builder().version(version).reconnect(quick);
        let client = builder.endpoint(&format!("{}/", fake.url), Binding::JsonRpc).unwrap();
        for watch in [client.send_stream("hello").await.unwrap(), client.watch("t1").await.unwrap()] {
            let mut watch = watch;
            assert!(watch.next().await.unwrap().is_err(), "{version}");
            for _ in 0..3 {
                assert!(watch.next().await.is_none(), "{version}");
            }
            assert_eq!(watch.end(), Some(End::Lost), "{version}");
        }
    }
}

#[tokio::test]
async fn timestamps_as_event_numbers_hide_no_event() {
    for version in ["1.0", "0.3"] {
        for numbers in [[10, 20, 20, 20, 30], [1, 1, 1, 1, 1], [5, 4, 3, 2, 1]] {
            let fake = Fake::start(move |_, _| {
                let wrap = |mut result: Value, name: &str| {
                    result["taskId"] = json!("t1");
                    result["contextId"] = json!("c1");
                    let result = if version == "1.0" { json!({ name: result }) } else { result };
                    json!({"jsonrpc": "2.0", "id": 1, "result": result})
                };
                let piece = |text: &str| {
                    let artifact = json!({"artifactId": text, "parts": [{"kind": "text", "text": text}]});
                    wrap(
                        json!({"kind": "artifact-update", "artifact": artifact, "append": false, "lastChunk": true}),
                        "artifactUpdate",
                    )
                };
                let status = |state: &str, is_final: bool| {
                    let state = if version == "1.0" {
                        format!("TASK_STATE_{}", state.to_uppercase())
                    } else {
                        state.to_owned()
                    };
                    wrap(
                        json!({"kind": "status-update", "status": {"state": state}, "final": is_final}),
                        "statusUpdate",
                    )
                };
                let events = [status("working", false), piece("a"), piece("b"), piece("c"), status("completed", true)];
                let events: Vec<_> = numbers.iter().map(|number| Some(*number)).zip(events).collect();
                sse(&events, true)
            })
            .await;
            let client =
                Client::builder().version(version).endpoint(&format!("{}/", fake.url), Binding::JsonRpc).unwrap();
            let mut watch = client.send_stream("hello").await.unwrap();
            let mut pieces = 0;
            while let Some(event) = watch.next().await {
                pieces +=
                    usize::from(matches!(event.unwrap().response, nuncio_model::StreamResponse::ArtifactUpdate(_)));
            }
            assert_eq!((pieces, watch.end()), (3, Some(End::Terminal(TaskState::Completed))), "{version} {numbers:?}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_repeats_the_same_events_is_not_asked_without_end() {
    for version in ["0.3", "0.1"] {
        let fake = Fake::start(move |seen, _| {
            let working = json!({"state": "working"});
            let task = json!({"kind": "task", "id": "t1", "contextId": "c1", "sessionId": "c1", "status": working});
            let update = json!({"kind": "status-update", "id": "t1", "taskId": "t1", "contextId": "c1", "status": working, "final": false});
            let answer = |result: Value| json!({"jsonrpc": "2.0", "id": null, "result": result});
            match seen.json()["method"].as_str().unwrap() {
                "tasks/get" => ok(&answer(task)),
                _ => sse(&[(None, answer(update.clone())), (None, answer(update))], true),
            }
        })
        .await;
        let mut quick = nuncio_client::Reconnect::default();
        quick.max_delay = std::time::Duration::from_millis(10);
        let client = Client::builder()
            .version(version)
            .reconnect(quick)
            .endpoint(&format!("{}/", fake.url), Binding::JsonRpc)
            .unwrap();
        let mut watch = client.send_stream("hello").await.unwrap();
        let mut events = 0;
        let error = loop {
            match watch.next().await.unwrap() {
                Ok(_) => {
                    events += 1;
                    assert!(events < 50, "it is asked again and again");
                }
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("cannot be resumed"), "{error}");
        assert_eq!(watch.end(), Some(End::Lost));
    }
}
