//! Version 0.3 over JSON-RPC, at the address of 1.0.

use nuncio_wire::sse::Event;
use serde_json::{Value, json};

use super::{
    Running,
    agent::EXTENSION,
    client::{Feed, Outgoing},
};

fn ask(running: &Running, method: &str, params: &Value) -> Outgoing {
    running.rpc(method, params).without("a2a-version")
}

async fn call(running: &Running, method: &str, params: &Value) -> Value {
    let mut document = ask(running, method, params).fetch().await.json();
    assert!(document.get("error").is_none(), "{document}");
    document["result"].take()
}

fn message(text: &str) -> Value {
    let parts = json!([{"kind": "text", "text": text}]);
    json!({"message": {"kind": "message", "messageId": "m-1", "role": "user", "parts": parts}})
}

/// The kinds of all events, their `final`, and their ids.
async fn seen(mut feed: Feed) -> Vec<(String, Option<bool>, Option<u64>)> {
    let shown = |event: &Event| {
        let document: Value = serde_json::from_str(&event.data).unwrap();
        let result = &document["result"];
        (result["kind"].as_str().unwrap_or("?").to_owned(), result["final"].as_bool(), event.sequence())
    };
    feed.rest().await.iter().map(shown).collect()
}

fn row(kind: &str, last: Option<bool>, place: u64) -> (String, Option<bool>, Option<u64>) {
    (kind.to_owned(), last, Some(place))
}

#[tokio::test]
async fn results_have_no_wrapper_and_have_a_kind() {
    let running = Running::start().await;
    let task = call(&running, "message/send", &message("hello")).await;
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("completed")));
    assert_eq!(task["history"][0]["role"], "user");
    let read = call(&running, "tasks/get", &json!({"id": task["id"]})).await;
    assert_eq!(read["status"], task["status"]);
    // The same task in the newer version.
    let newer = running.call("GetTask", &json!({"id": task["id"]})).await;
    assert_eq!(newer["status"]["state"], "TASK_STATE_COMPLETED");
    let direct = call(&running, "message/send", &message("direct hi")).await;
    assert_eq!((&direct["kind"], &direct["role"]), (&json!("message"), &json!("agent")));
    let error = ask(&running, "tasks/get", &json!({"id": "nope"})).fetch().await.json()["error"].clone();
    assert_eq!((&error["code"], &error["data"]), (&json!(-32001), &json!({"taskId": "nope"})));
}

#[tokio::test]
async fn a_stream_ends_with_a_final_event_and_can_be_resumed() {
    let running = Running::start().await;
    let whole = seen(ask(&running, "message/stream", &message("stream 3")).open().await).await;
    let end = row("status-update", Some(true), 6);
    assert_eq!((&whole[0], &whole[5], whole.len()), (&row("task", None, 1), &end, 6));
    assert!(whole[1..5].iter().all(|(kind, ..)| kind == "artifact-update"));

    let task = call(&running, "message/send", &message("stream 3")).await;
    let again = ask(&running, "tasks/resubscribe", &json!({"id": task["id"]}));
    // The missed events are no longer stored, so the reader gets the task and its last event again.
    let again = seen(again.header("last-event-id", "4").open().await).await;
    assert_eq!(again, [("task".to_owned(), None, None), ("status-update".to_owned(), Some(true), None)]);
}

#[tokio::test]
async fn a_stream_that_the_shutdown_ends_has_an_error_and_no_final_event() {
    let mut limits = nuncio_server::Limits::default();
    limits.drain = std::time::Duration::from_secs(10);
    let mut running = Running::with(|builder| builder.limits(limits)).await;
    let task = call(&running, "message/send", &message("ask")).await;
    let mut feed = ask(&running, "tasks/resubscribe", &json!({"id": task["id"]})).open().await;
    feed.next().await.unwrap();
    running.stop();
    let rest = feed.rest().await;
    let document: Value = serde_json::from_str(&rest.last().unwrap().data).unwrap();
    assert!(document["error"]["message"].as_str().unwrap().contains("stopping"), "{document}");
    assert!(rest.iter().all(|event| !event.data.contains("\"final\":true")), "{rest:?}");
    running.end.await.unwrap();
}

#[tokio::test]
async fn input_required_is_a_final_event() {
    let running = Running::start().await;
    let events = seen(ask(&running, "message/stream", &message("ask")).open().await).await;
    let (kind, last, _) = events.last().unwrap();
    assert_eq!((kind.as_str(), *last), ("status-update", Some(true)));
}

#[tokio::test]
async fn a_subscription_to_an_ended_task_sends_the_task() {
    let running = Running::start().await;
    let task = call(&running, "message/send", &message("hello")).await;
    let again = ask(&running, "tasks/resubscribe", &json!({"id": task["id"]})).open().await;
    let expected = [("task".to_owned(), None, None), ("status-update".to_owned(), Some(true), None)];
    assert_eq!(seen(again).await, expected);
}

#[tokio::test]
async fn one_webhook_needs_no_id() {
    let running = Running::start().await;
    let task = call(&running, "message/send", &message("ask")).await;
    let hook = json!({"taskId": task["id"], "pushNotificationConfig": {"url": "https://hooks.example/a"}});
    for method in ["tasks/pushNotificationConfig/set", "tasks/pushNotification/set"] {
        let set = call(&running, method, &hook).await;
        assert_eq!(set["pushNotificationConfig"]["id"], task["id"]);
    }
    let found = call(&running, "tasks/pushNotificationConfig/get", &json!({"id": task["id"]})).await;
    assert_eq!(found["pushNotificationConfig"]["url"], "https://hooks.example/a");
    let list = call(&running, "tasks/pushNotificationConfig/list", &json!({"id": task["id"]})).await;
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    let gone = json!({"id": task["id"], "pushNotificationConfigId": task["id"]});
    assert_eq!(call(&running, "tasks/pushNotificationConfig/delete", &gone).await, Value::Null);
    let error = ask(&running, "tasks/pushNotificationConfig/get", &json!({"id": task["id"]}));
    assert_eq!(error.fetch().await.json()["error"]["code"], -32001);
}

#[tokio::test]
async fn extensions_are_in_the_header_of_the_version() {
    let running = Running::start().await;
    let answer = ask(&running, "message/send", &message("hello")).header("x-a2a-extensions", EXTENSION).fetch().await;
    assert_eq!(answer.header("x-a2a-extensions"), EXTENSION);
}

#[tokio::test]
async fn a_streaming_call_of_0_3_is_refused_in_a_stream() {
    let running = Running::start().await;
    let call = |method| running.rpc(method, &json!({"id": "no-such-task"})).without("a2a-version");
    let answer = call("tasks/resubscribe").fetch().await;
    assert_eq!((answer.status, answer.media_type()), (200, "text/event-stream"));
    let mut feed = call("tasks/resubscribe").open().await;
    let events = feed.rest().await;
    assert_eq!(events.len(), 1);
    let document: serde_json::Value = serde_json::from_str(&events[0].data).unwrap();
    assert_eq!((&document["id"], &document["error"]["code"]), (&json!(1), &json!(-32001)));
    assert_eq!(call("tasks/get").fetch().await.media_type(), "application/json");
    let newest = running.rpc("SubscribeToTask", &json!({"id": "no-such-task"})).fetch().await;
    assert_eq!(newest.media_type(), "application/json");
}

#[tokio::test]
async fn a_method_of_0_1_with_invalid_params_is_refused_in_0_1() {
    let running = Running::start().await;
    let error = async |method: &str, params: Value| {
        ask(&running, method, &params).fetch().await.json()["error"]["data"]["fieldViolations"][0]["field"].clone()
    };
    // 0.3 has the name `taskId` for this field.
    let hook = json!({"url": 7});
    let reads = async |params: Value| ask(&running, "tasks/pushNotification/set", &params).fetch().await.json();
    assert_eq!(
        error("tasks/pushNotification/set", json!({"pushNotificationConfig": {"url": "https://a.example"}})).await,
        "id"
    );
    assert_eq!(error("tasks/pushNotification/get", json!({})).await, "id");
    assert_eq!(reads(json!({"id": "t", "pushNotificationConfig": hook})).await["error"]["code"], -32602);
    // With the params of 0.3 the call is a call of 0.3, and its task does not exist.
    let params = json!({"taskId": "t", "pushNotificationConfig": {"url": "https://a.example"}});
    assert_eq!(reads(params).await["error"]["code"], -32001);
}

/// Refuses every address, like an address guard.
struct Nowhere;

#[async_trait::async_trait]
impl nuncio_engine::PushGuard for Nowhere {
    async fn check(&self, _config: &nuncio_model::TaskPushNotificationConfig) -> Result<(), nuncio_model::Error> {
        Err(nuncio_model::Error::invalid_params("url", "is private"))
    }
}

#[tokio::test]
async fn a_refused_webhook_has_the_field_name_of_the_version() {
    let engine = super::agent::engine().push_guard(std::sync::Arc::new(Nowhere)).build();
    let running = Running::of(engine, |builder| builder).await;
    let task = running.task("ask").await["id"].clone();
    let hook = json!({"url": "https://a.example"});
    let newer = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let kinded = message("x")["message"].clone();
    let oldest = json!({"role": "user", "parts": [{"type": "text", "text": "x"}]});
    let rows = [
        ("CreateTaskPushNotificationConfig", json!({"taskId": task, "url": "https://a.example"}), "url"),
        (
            "SendMessage",
            json!({"message": newer, "configuration": {"taskPushNotificationConfig": hook}}),
            "configuration.taskPushNotificationConfig.url",
        ),
        (
            "tasks/pushNotificationConfig/set",
            json!({"taskId": task, "pushNotificationConfig": hook}),
            "pushNotificationConfig.url",
        ),
        (
            "message/send",
            json!({"message": kinded, "configuration": {"pushNotificationConfig": hook}}),
            "configuration.pushNotificationConfig.url",
        ),
        (
            "tasks/pushNotification/set",
            json!({"id": task, "pushNotificationConfig": hook}),
            "pushNotificationConfig.url",
        ),
        ("tasks/send", json!({"id": "mine", "message": oldest, "pushNotification": hook}), "pushNotification.url"),
    ];
    for (method, params, field) in rows {
        let call = running.rpc(method, &params);
        let is_new = method.starts_with(char::is_uppercase);
        let error = if is_new { call } else { call.without("a2a-version") }.fetch().await.json()["error"].clone();
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32602), &json!(format!("{field}: is private"))),
            "{method}"
        );
        assert!(error.to_string().contains(&format!("\"field\":\"{field}\"")), "{error}");
    }
    let path = format!("/v1/tasks/{}/pushNotificationConfigs", task.as_str().unwrap());
    let body = json!({"config": {"pushNotificationConfig": hook}});
    let refused = running.send("POST", &path).without("a2a-version").json(&body).fetch().await.json();
    assert_eq!(refused["message"], "config.pushNotificationConfig.url: is private");
}
