//! The `a2a.*` dialect from end to end: requests are in the dialect, the results are plain 1.0.

use nuncio_server::Tenants;
use nuncio_wire::Versions;
use serde_json::{Value, json};

use super::{
    Running,
    agent::{EXTENSION, OTHER},
    client::{Answer, reason},
};

/// The example of the dialect.
fn example() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/examples/dialect-a2a-dot-methods.json");
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{path} cannot be read: {error}"));
    serde_json::from_slice(&text).unwrap()
}

/// Sends a JSON-RPC request without service parameters in its head.
async fn post(running: &Running, request: &Value) -> Answer {
    running.send("POST", "/").without("a2a-version").json(request).fetch().await
}

/// The result of a call of the dialect with the version in its params.
async fn call(running: &Running, method: &str, mut params: Value) -> Value {
    params["a2a-version"] = json!("1.0");
    let answer = post(running, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
    let mut document = answer.json();
    assert!(document.get("error").is_none(), "{document}");
    document["result"].take()
}

fn message(text: &str) -> Value {
    json!({"message": {"message_id": "m-1", "role": "user", "parts": [{"text": text}]}})
}

#[tokio::test]
async fn every_request_of_the_example_is_executed() {
    let running = Running::start().await;
    let mut requests =
        example()["cases"].as_array().unwrap().iter().map(|case| case["request"].clone()).collect::<Vec<_>>();
    let [send, get, create] = &mut requests[..] else { panic!("the example has other cases") };

    let answer = post(&running, send).await.json();
    assert_eq!(answer["id"], send["id"]);
    let task = &answer["result"]["task"];
    assert_eq!(
        (&task["status"]["state"], &task["history"][0]["role"]),
        (&json!("TASK_STATE_COMPLETED"), &json!("ROLE_USER"))
    );

    get["params"]["id"] = task["id"].clone();
    let read = post(&running, get).await.json();
    assert_eq!(
        (&read["result"]["id"], read["result"]["status"]["state"].as_str()),
        (&task["id"], Some("TASK_STATE_COMPLETED"))
    );

    create["params"]["task_id"] = call(&running, "a2a.sendMessage", message("ask")).await["task"]["id"].take();
    let created = post(&running, create).await.json();
    assert_eq!(created["result"]["url"], create["params"]["push_notification_config"]["url"], "{created}");
    let configs =
        call(&running, "a2a.listTaskPushNotificationConfigs", json!({"task_id": create["params"]["task_id"]})).await;
    assert_eq!(configs["configs"][0]["id"], created["result"]["id"]);
}

#[tokio::test]
async fn every_path_of_the_example_is_the_one_of_1_0() {
    let running = Running::with(|builder| builder.tenants(Tenants::any())).await;
    let answer = running.send("POST", "/tenants/north/messages").json(&message("ask")).fetch().await;
    let task = answer.json()["task"].take();
    assert_eq!(
        (answer.media_type(), task["status"]["state"].as_str()),
        ("application/a2a+json", Some("TASK_STATE_INPUT_REQUIRED"))
    );
    for path in ["/tenants/north/tasks/", "/north/tasks/"] {
        let read = running.send("GET", &format!("{path}{}", task["id"].as_str().unwrap())).fetch().await;
        assert_eq!(read.json()["id"], task["id"], "{path}");
    }
    for pair in example()["rest_paths"].as_array().unwrap() {
        let text = |index: usize| pair[index].as_str().unwrap();
        let send = |verb, path| running.send(verb, path).json(&json!({})).fetch();
        let (dialect, plain) = (send(text(0), text(1)).await, send(text(2), text(3)).await);
        assert_eq!((dialect.status, dialect.json()), (plain.status, plain.json()), "{}", text(1));
        assert!(!dialect.json()["error"]["message"].as_str().unwrap().contains("nothing at this path"), "{}", text(1));
    }
    let mut feed = running.send("POST", "/messages:stream").json(&message("stream 2")).open().await;
    let responses = feed.responses().await;
    assert!(
        responses[0]["task"]["id"].is_string() && responses.last().unwrap()["statusUpdate"].is_object(),
        "{responses:?}"
    );
    assert_eq!(running.send("GET", "/tenants/tasks").fetch().await.json()["totalSize"], 0, "the tenant is `tenants`");
}

#[tokio::test]
async fn a_task_is_watched_listed_and_canceled() {
    let running = Running::start().await;
    let request = |text: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "a2a.sendStreamingMessage", "params": {
        "message": message(text)["message"], "a2a-version": "1.0", "a2a-extensions": format!("{EXTENSION}, urn:other")}})
    };
    let stream = |text: &str| running.send("POST", "/").without("a2a-version").json(&request(text));
    let feed = stream("hello").header("a2a-extensions", OTHER).open().await;
    assert_eq!(feed.headers["a2a-extensions"], OTHER, "what the head says wins over the params");
    let mut feed = stream("silent").open().await;
    assert_eq!(feed.headers["a2a-extensions"], EXTENSION);
    let mut response = feed.response().await.unwrap();
    let id = response["task"]["id"].clone();
    while ["task", "statusUpdate"].iter().all(|it| response[*it]["status"]["state"] != "TASK_STATE_WORKING") {
        response = feed.response().await.unwrap();
    }

    let listed = call(&running, "a2a.listTasks", json!({"status": "working", "page_size": 5})).await;
    assert_eq!((&listed["tasks"][0]["id"], &listed["pageSize"]), (&id, &json!(5)));
    let canceled = call(&running, "a2a.cancelTask", json!({"id": id})).await;
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(feed.responses().await.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn a_call_without_a_version_is_refused_unless_the_server_is_lenient() {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "a2a.listTasks", "params": {}});
    let strict = Running::start().await;
    assert_eq!(reason(&post(&strict, &request).await.json()["error"]), "VERSION_NOT_SUPPORTED");
    let paths = strict.send("POST", "/messages").without("a2a-version").json(&message("x")).fetch().await;
    assert_eq!(reason(&paths.rest_error()), "VERSION_NOT_SUPPORTED");
    let mut wrong = request.clone();
    wrong["params"]["a2a-version"] = json!("99.0");
    assert_eq!(reason(&post(&strict, &wrong).await.json()["error"]), "VERSION_NOT_SUPPORTED");

    let lenient = Running::with(|builder| builder.versions(Versions::default().with_lenient(true))).await;
    assert!(post(&lenient, &request).await.json()["result"]["tasks"].is_array());
    assert_eq!(reason(&post(&lenient, &wrong).await.json()["error"]), "VERSION_NOT_SUPPORTED");
}
