//! One task that clients of several versions use.

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use nuncio_push::{Dispatcher, Guard};
use nuncio_wire::{Version, Versions};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Running,
    agent::{engine, message, reply},
    client::{Feed, reason, until},
};

/// A call of an older version, which declares no version.
async fn older(running: &Running, method: &str, params: &Value) -> Value {
    let answer = running.rpc(method, params).without("a2a-version").fetch().await;
    assert_eq!((answer.status, answer.media_type()), (200, "application/json"), "{method}");
    let mut document = answer.json();
    assert!(document.get("error").is_none(), "{method}: {document}");
    document["result"].take()
}

async fn older_stream(running: &Running, method: &str, params: &Value) -> Feed {
    running.rpc(method, params).without("a2a-version").open().await
}

/// Parameters of 0.3 that send this text, to a task if `task` is set.
fn message_0_3(task: Option<&Value>, text: &str) -> Value {
    let parts = json!([{"kind": "text", "text": text}]);
    let mut params = json!({"message": {"kind": "message", "messageId": "m-3", "role": "user", "parts": parts}});
    if let Some(task) = task {
        params["message"]["taskId"] = task["id"].clone();
    }
    params
}

/// Parameters of 0.1 that send this text to the task with this client-side id.
fn message_0_1(id: &str, text: &str) -> Value {
    json!({"id": id, "sessionId": "s", "message": {"role": "user", "parts": [{"type": "text", "text": text}]}})
}

fn id_of(task: &Value) -> Value {
    json!({"id": task["id"]})
}

async fn state_in_1_0(running: &Running, task: &Value) -> Value {
    running.call("GetTask", &id_of(task)).await["status"]["state"].take()
}

/// A task, created in 1.0, that works until it is canceled.
async fn at_work(running: &Running) -> Value {
    let mut params = message("silent");
    params["configuration"] = json!({"returnImmediately": true});
    running.call("SendMessage", &params).await["task"].take()
}

#[tokio::test]
async fn a_task_of_1_0_is_read_and_continued_in_0_3() {
    let running = Running::start().await;
    let task = running.task("ask").await;
    let read = older(&running, "tasks/get", &id_of(&task)).await;
    assert_eq!((&read["kind"], &read["id"], &read["contextId"]), (&json!("task"), &task["id"], &task["contextId"]));
    assert_eq!(read["status"]["state"], "input-required");
    assert_eq!(read.pointer("/status/message/parts/0").unwrap(), &json!({"kind": "text", "text": "what?"}));
    assert_eq!(read["history"][0]["kind"], "message");
    let rest = running.send("GET", &format!("/v1/tasks/{}", task["id"].as_str().unwrap())).without("a2a-version");
    let rest = rest.fetch().await;
    assert_eq!((rest.status, rest.media_type()), (200, "application/json"));
    assert_eq!(rest.json()["status"]["state"], "TASK_STATE_INPUT_REQUIRED");

    let done = older(&running, "message/send", &message_0_3(Some(&task), "hello")).await;
    assert_eq!((&done["id"], &done["status"]["state"]), (&task["id"], &json!("completed")));
    assert_eq!(done.pointer("/artifacts/0/parts/0/text").unwrap(), "hello");
    let done = running.call("GetTask", &id_of(&task)).await;
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
    let texts: Vec<_> =
        done["history"].as_array().unwrap().iter().map(|it| it.pointer("/parts/0/text").unwrap()).collect();
    assert_eq!(texts, ["ask", "what?", "hello"]);
}

#[tokio::test]
async fn a_task_of_0_3_is_listed_read_and_continued_in_1_0() {
    let running = Running::start().await;
    let task = older(&running, "message/send", &message_0_3(None, "ask")).await;
    assert_eq!((&task["kind"], &task["status"]["state"]), (&json!("task"), &json!("input-required")));
    let listed = running.call("ListTasks", &json!({"contextId": task["contextId"]})).await;
    assert_eq!(listed["tasks"][0]["id"], task["id"]);
    assert_eq!(state_in_1_0(&running, &task).await, "TASK_STATE_INPUT_REQUIRED");
    let done = running.call("SendMessage", &reply(&task, "hello")).await;
    assert_eq!(done["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(older(&running, "tasks/get", &id_of(&task)).await["status"]["state"], "completed");
}

#[tokio::test]
async fn a_stream_of_one_version_ends_by_a_cancel_of_the_other() {
    let running = Running::start().await;
    let task = at_work(&running).await;
    let mut old = older_stream(&running, "tasks/resubscribe", &id_of(&task)).await;
    let first = old.response().await.unwrap();
    assert_eq!((&first["kind"], &first["id"]), (&json!("task"), &task["id"]));
    let mut new = running.rpc("SubscribeToTask", &id_of(&task)).open().await;
    assert_eq!(new.response().await.unwrap()["task"]["id"], task["id"]);
    let canceled = older(&running, "tasks/cancel", &id_of(&task)).await;
    assert_eq!((&canceled["kind"], &canceled["status"]["state"]), (&json!("task"), &json!("canceled")));
    let last = new.responses().await.pop().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
    let last = old.responses().await.pop().unwrap();
    assert_eq!((&last["kind"], &last["final"]), (&json!("status-update"), &json!(true)));
    assert_eq!(last["status"]["state"], "canceled");

    let mut old = older_stream(&running, "message/stream", &message_0_3(None, "silent")).await;
    let task = old.response().await.unwrap();
    assert_eq!(task["kind"], "task");
    running.call("CancelTask", &id_of(&task)).await;
    let rest = old.responses().await;
    let finals: Vec<_> = rest.iter().map(|it| it["final"] == true).collect();
    assert_eq!(finals.iter().filter(|is_final| **is_final).count(), 1, "{rest:?}");
    assert_eq!((finals.last(), &rest.last().unwrap()["status"]["state"]), (Some(&true), &json!("canceled")));
}

#[tokio::test]
async fn a_task_of_0_1_is_everybodys_and_is_its_clients_under_the_clients_id() {
    let running = Running::start().await;
    let begun = older(&running, "tasks/send", &message_0_1("mine", "ask")).await;
    assert_eq!((&begun["id"], &begun["sessionId"]), (&json!("mine"), &json!("s")));
    assert_eq!(begun["status"]["state"], "input-required");
    let hook = json!({"id": "mine", "pushNotificationConfig": {"url": "https://hooks.example/a", "token": "t"}});
    older(&running, "tasks/pushNotification/set", &hook).await;
    let listed = running.call("ListTasks", &json!({})).await;
    let task = &listed["tasks"][0];
    assert_ne!(task["id"], "mine");
    assert_eq!(listed["totalSize"], 1);

    // The version of the task decides the version of a method that both versions have.
    let mine = older(&running, "tasks/get", &json!({"id": "mine"})).await;
    assert_eq!((&mine["id"], mine.get("kind")), (&json!("mine"), None));
    let theirs = older(&running, "tasks/get", &id_of(task)).await;
    assert_eq!((&theirs["id"], &theirs["kind"]), (&task["id"], &json!("task")));

    let continued = older(&running, "message/send", &message_0_3(Some(task), "ask")).await;
    assert_eq!((&continued["id"], &continued["status"]["state"]), (&task["id"], &json!("input-required")));
    let done = running.call("SendMessage", &reply(task, "hello")).await;
    assert_eq!(done["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let mine = older(&running, "tasks/get", &json!({"id": "mine", "historyLength": 10})).await;
    assert_eq!(mine["status"]["state"], "completed");
    assert_eq!(mine.pointer("/artifacts/0/parts/0").unwrap(), &json!({"type": "text", "text": "hello"}));
    assert_eq!(mine["history"].as_array().unwrap().len(), 5, "{mine}");

    // A finished task is reopened: a new task has the same id.
    let again = older(&running, "tasks/send", &message_0_1("mine", "ask")).await;
    assert_eq!((&again["id"], &again["status"]["state"]), (&json!("mine"), &json!("input-required")));
    let listed = running.call("ListTasks", &json!({})).await;
    assert_eq!(listed["totalSize"], 2);
    // The webhook of the previous task remains, under its own name.
    let hook = older(&running, "tasks/pushNotification/get", &json!({"id": "mine"})).await;
    assert_eq!(hook["pushNotificationConfig"]["url"], "https://hooks.example/a");
    for task in listed["tasks"].as_array().unwrap() {
        let hooks = running.call("ListTaskPushNotificationConfigs", &json!({"taskId": task["id"]})).await;
        let [hook] = &hooks["configs"].as_array().unwrap()[..] else { panic!("{hooks}") };
        assert_eq!((&hook["id"], &hook["taskId"]), (&task["id"], &task["id"]));
    }
    let canceled = older(&running, "tasks/cancel", &json!({"id": "mine"})).await;
    assert_eq!((&canceled["id"], &canceled["status"]["state"]), (&json!("mine"), &json!("canceled")));
}

#[tokio::test]
async fn many_first_messages_in_0_1_make_one_task() {
    let running = Running::start().await;
    let calls = (0..20).map(|i| {
        let call = running.rpc("tasks/send", &message_0_1("mine", &format!("ask {i}"))).without("a2a-version");
        tokio::spawn(call.fetch())
    });
    for call in calls.collect::<Vec<_>>() {
        let document = call.await.unwrap().json();
        assert_eq!(document["result"]["id"], "mine", "{document}");
    }
    assert_eq!(running.call("ListTasks", &json!({})).await["totalSize"], 1);
    let mine = older(&running, "tasks/get", &json!({"id": "mine", "historyLength": 100})).await;
    let said = mine["history"].as_array().unwrap().iter().filter(|it| it["role"] == "user").count();
    assert_eq!(said, 20);
}

#[tokio::test]
async fn each_webhook_gets_the_format_of_its_registration() {
    let (told, mut notifications) = mpsc::unbounded_channel();
    let keep = async |State(told): State<mpsc::UnboundedSender<(String, HeaderMap, Value)>>,
                      axum::extract::Path(path): axum::extract::Path<String>,
                      headers: HeaderMap,
                      body: String| {
        told.send((path, headers, serde_json::from_str(&body).unwrap())).unwrap();
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = |path: &str| format!("http://{}/{path}", listener.local_addr().unwrap());
    let urls = [url("v1.0"), url("v0.3"), url("v0.1")];
    let router = Router::new().route("/{path}", post(keep)).with_state(told);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let engine = engine().build();
    let dispatcher = Dispatcher::builder(&engine, Guard::new().allow_private(true)).build().unwrap();
    let running = Running::of(engine, |builder| builder.background(dispatcher)).await;
    older(&running, "tasks/send", &message_0_1("mine", "ask")).await;
    let task = running.call("ListTasks", &json!({})).await["tasks"][0].take();
    running.call("CreateTaskPushNotificationConfig", &json!({"taskId": task["id"], "id": "a", "url": urls[0]})).await;
    let config = json!({"taskId": task["id"], "pushNotificationConfig": {"id": "b", "url": urls[1], "token": "t"}});
    older(&running, "tasks/pushNotificationConfig/set", &config).await;
    let config = json!({"id": "mine", "pushNotificationConfig": {"url": urls[2]}});
    older(&running, "tasks/pushNotification/set", &config).await;
    running.call("SendMessage", &reply(&task, "hello")).await;

    let mut seen: Vec<(String, String, Value)> = Vec::new();
    let ends = |seen: &[(String, String, Value)]| {
        seen.iter().filter(|(.., body)| body.to_string().to_lowercase().contains("completed\"")).count()
    };
    while ends(&seen) < 3 {
        let (path, headers, body) = notifications.recv().await.unwrap();
        seen.push((path, headers["content-type"].to_str().unwrap().to_owned(), body));
    }
    let of = |path: &str| seen.iter().filter(|it| it.0 == path).map(|it| (&*it.1, &it.2)).collect::<Vec<_>>();
    assert_eq!(of("v1.0").len(), 3, "working, artifact, completed: {seen:?}");
    for (content_type, body) in of("v1.0") {
        assert_eq!(content_type, "application/a2a+json");
        assert!(body["statusUpdate"].is_object() || body["artifactUpdate"].is_object(), "{body}");
    }
    let old: Vec<_> = of("v0.3").iter().map(|(_, body)| &body["status"]["state"]).collect();
    assert_eq!(old, ["working", "completed"]);
    for (content_type, body) in of("v0.3") {
        assert_eq!((content_type, &body["kind"], &body["id"]), ("application/json", &json!("task"), &task["id"]));
    }
    let [(content_type, end)] = of("v0.1")[..] else { panic!("{seen:?}") };
    assert_eq!(
        (content_type, &end["id"], &end["status"]["state"]),
        ("application/json", &json!("mine"), &json!("completed"))
    );
    assert_eq!(end.get("kind"), None);
}

#[tokio::test]
async fn a_disabled_version_is_refused_by_name() {
    let only = async |version| Running::with(|builder| builder.versions(Versions::only([version]))).await;
    let new = only(Version::V1_0).await;
    for (method, params) in [("message/send", message_0_3(None, "x")), ("tasks/send", message_0_1("x", "x"))] {
        let answer = new.rpc(method, &params).without("a2a-version").fetch().await.json();
        assert_eq!((&answer["error"]["code"], reason(&answer["error"])), (&json!(-32009), "VERSION_NOT_SUPPORTED"));
    }
    let rest = new.send("POST", "/v1/message:send").without("a2a-version").json(&message_0_3(None, "x")).fetch().await;
    assert_eq!((rest.status, reason(&rest.rest_error())), (400, "VERSION_NOT_SUPPORTED"));

    let old = only(Version::V0_3).await;
    older(&old, "message/send", &message_0_3(None, "hello")).await;
    let answer = old.rpc("SendMessage", &message("x")).fetch().await.json();
    assert_eq!(answer["error"]["code"], -32009, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("version 1.0"), "{answer}");

    // The detected version of a request, and its declared version.
    let all = Running::start().await;
    let answer = all.rpc("message/send", &message_0_3(None, "x")).fetch().await.json();
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("0.3") && told.contains("1.0"), "{told}");
    until(async || all.call("ListTasks", &json!({})).await["totalSize"] == 0).await;
}
