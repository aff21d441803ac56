//! The version of a request, and its extensions.

use nuncio_auth::Tokens;
use nuncio_model::card::AgentExtension;
use nuncio_wire::Versions;
use serde_json::{Value, json};

use super::{
    Running,
    agent::{EXTENSION, OTHER, card, engine, message},
    client::{Outgoing, reason},
};

fn every_call() -> [(&'static str, Value); 11] {
    [
        ("SendMessage", message("hello")),
        ("SendStreamingMessage", message("hello")),
        ("GetTask", json!({"id": "x"})),
        ("ListTasks", json!({})),
        ("CancelTask", json!({"id": "x"})),
        ("SubscribeToTask", json!({"id": "x"})),
        ("CreateTaskPushNotificationConfig", json!({"taskId": "x", "url": "https://example.com"})),
        ("GetTaskPushNotificationConfig", json!({"taskId": "x", "id": "y"})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": "x"})),
        ("DeleteTaskPushNotificationConfig", json!({"taskId": "x", "id": "y"})),
        ("GetExtendedAgentCard", json!({})),
    ]
}

#[tokio::test]
async fn an_unsupported_version_is_refused_on_every_operation() {
    let running = Running::start().await;
    for version in ["99.0", "1.99", "nonsense"] {
        for (method, params) in every_call() {
            let answer = running.rpc(method, &params).header("a2a-version", version).fetch().await;
            let error = &answer.json()["error"];
            assert_eq!((&error["code"], reason(error)), (&json!(-32009), "VERSION_NOT_SUPPORTED"), "{method}");
        }
        for path in
            ["/tasks", "/tasks/x", "/tasks/x:subscribe", "/extendedAgentCard", "/tasks/x/pushNotificationConfigs"]
        {
            let answer = running.send("GET", path).header("a2a-version", version).fetch().await;
            assert_eq!((answer.status, reason(&answer.rest_error())), (400, "VERSION_NOT_SUPPORTED"), "{path}");
        }
    }
}

#[tokio::test]
async fn a_missing_version_means_an_older_version_unless_the_server_is_lenient() {
    let strict = Running::with(|builder| builder.versions(Versions::only([nuncio_wire::Version::V1_0]))).await;
    let answer = strict.rpc("ListTasks", &json!({})).without("a2a-version").fetch().await;
    assert_eq!(reason(&answer.json()["error"]), "VERSION_NOT_SUPPORTED");
    let lenient = Running::with(|builder| builder.versions(Versions::default().with_lenient(true))).await;
    let answer = lenient.rpc("ListTasks", &json!({})).without("a2a-version").fetch().await;
    assert!(answer.json()["result"].is_object());
    assert_eq!(lenient.send("GET", "/tasks").without("a2a-version").fetch().await.status, 200);
}

#[tokio::test]
async fn patch_digits_are_ignored_and_the_query_may_declare_the_version() {
    let running = Running::start().await;
    for version in ["1.0", "1.0.1", "1.0.0"] {
        assert_eq!(running.send("GET", "/tasks").header("a2a-version", version).fetch().await.status, 200);
    }
    let status = |path: &'static str, header: Option<&'static str>| {
        let get = running.send("GET", path).without("a2a-version");
        let get = match header {
            Some(version) => get.header("a2a-version", version),
            None => get,
        };
        async { get.fetch().await.status }
    };
    assert_eq!(status("/tasks?A2A-Version=1.0", None).await, 200);
    assert_eq!(status("/tasks?pageSize=1&a2a-version=1.0", None).await, 200);
    assert_eq!(status("/tasks?A2A-Version=99.0", None).await, 400);
    assert_eq!(status("/tasks?A2A-Version=99.0", Some("1.0")).await, 200, "the header wins");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"});
    let answer = running.send("POST", "/?A2A-Version=1.0").without("a2a-version").json(&call).fetch().await;
    assert!(answer.json()["result"].is_object());
}

#[tokio::test]
async fn active_extensions_are_named_in_the_response() {
    let running = Running::start().await;
    let unknown = "https://example.com/extensions/unknown/v1";
    let asked = |lists: &'static [&'static str]| {
        let call = running.rpc("SendMessage", &message("hello"));
        lists.iter().fold(call, |call, list| call.more("a2a-extensions", list)).fetch()
    };
    assert_eq!(asked(&[EXTENSION]).await.header("a2a-extensions"), EXTENSION);
    let lists: &[&str] =
        &["https://example.com/extensions/unknown/v1,https://example.com/extensions/two/v1", EXTENSION];
    assert_eq!(asked(lists).await.header("a2a-extensions"), format!("{EXTENSION}, {OTHER}"));
    assert!(!asked(&[" , "]).await.headers.contains_key("a2a-extensions"));
    let call = running.send("POST", "/message:stream").json(&message("hello")).header("a2a-extensions", OTHER);
    assert_eq!(call.open().await.headers["a2a-extensions"], OTHER);
    let call = running.send("GET", "/tasks").header("a2a-extensions", unknown).fetch().await;
    assert!(!call.headers.contains_key("a2a-extensions"));
}

#[tokio::test]
async fn a_required_extension_must_be_declared() {
    let mut demanding = card();
    let required =
        AgentExtension { uri: "https://example.com/required".to_owned(), required: true, ..Default::default() };
    demanding.capabilities.extensions.push(required);
    // Only authenticated callers get the extended card.
    let tokens = Tokens::new().with("alice", "of-alice").unwrap();
    let running = Running::of(engine().card(demanding).build(), |builder| builder.authenticator(tokens)).await;
    let known = |call: Outgoing| call.header("authorization", "Bearer of-alice");
    for (method, params) in every_call() {
        let answer = known(running.rpc(method, &params)).fetch().await.json();
        let error = &answer["error"];
        assert_eq!((&error["code"], reason(error)), (&json!(-32008), "EXTENSION_SUPPORT_REQUIRED"), "{method}");
    }
    for call in
        [running.send("POST", "/message:stream").json(&message("hello")), running.send("GET", "/extendedAgentCard")]
    {
        let answer = known(call).fetch().await;
        assert_eq!((answer.status, reason(&answer.rest_error())), (400, "EXTENSION_SUPPORT_REQUIRED"));
    }
    let answer = known(running.send("GET", "/v1/card").without("a2a-version")).fetch().await;
    assert_eq!((answer.status, answer.json()["code"].as_i64()), (400, Some(-32008)), "{answer:?}");
    let required = "https://example.com/required";
    let call = known(running.rpc("SendMessage", &message("hello"))).header("a2a-extensions", required);
    assert!(call.fetch().await.json()["result"]["task"].is_object());
    let call = known(running.send("GET", "/extendedAgentCard")).header("a2a-extensions", required);
    assert_eq!(call.fetch().await.status, 200);
    let call = known(running.send("GET", "/v1/card").without("a2a-version")).header("x-a2a-extensions", required);
    assert_eq!(call.fetch().await.status, 200);
    // The public card declares the requirement.
    assert_eq!(running.send("GET", "/.well-known/agent-card.json").fetch().await.status, 200);
}

#[tokio::test]
async fn a_version_that_is_not_text_or_contradictory_is_refused() {
    let running = Running::start().await;
    let odd: [&[u8]; 6] = [b"1.0, 0.3", b"1.\xff", b"\xc3\xa9", b"1.0;q=1", b"v1.0", b"1"];
    for value in odd {
        for method in ["ListTasks", "message/send", "tasks/get"] {
            let answer = running.rpc(method, &json!({})).header("a2a-version", value).fetch().await;
            assert_eq!(answer.json()["error"]["code"], -32009, "{value:?} {method}");
        }
        assert_eq!(running.send("GET", "/tasks").header("a2a-version", value).fetch().await.status, 400);
        assert_eq!(running.send("GET", "/v1/card").header("a2a-version", value).fetch().await.status, 400);
    }
    // A repeated value counts once, and contradictory values are refused.
    let twice = |other| running.send("GET", "/tasks").more("a2a-version", other).fetch();
    assert_eq!(twice("1.0").await.status, 200);
    let refused = twice("0.3").await;
    assert_eq!((refused.status, reason(&refused.rest_error())), (400, "VERSION_NOT_SUPPORTED"));
}

#[tokio::test]
async fn a_refusal_has_the_format_of_the_methods_version() {
    let running = Running::start().await;
    let told = async |method: &str, says: Option<&str>| {
        let call = running.rpc(method, &json!({})).without("a2a-version");
        let call = if let Some(version) = says { call.header("a2a-version", version) } else { call };
        let error = call.fetch().await.json()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains("version"), "{error}");
        (error["code"].as_i64().unwrap(), error["data"].is_array())
    };
    // -32009 has another meaning in 0.1. Clients that use the methods of 0.1, or declare 0.1, do not get this code.
    for (method, says, expected) in [
        ("SendMessage", None, (-32009, true)),
        ("SendMessage", Some("9.9"), (-32009, true)),
        ("SendMessage", Some("0.3"), (-32009, false)),
        ("SendMessage", Some("0.1"), (-32600, false)),
        ("message/send", Some("1.0"), (-32009, true)),
        ("message/send", Some("9.9"), (-32009, false)),
        ("message/send", Some("0.1"), (-32600, false)),
        ("tasks/send", Some("1.0"), (-32009, true)),
        ("tasks/send", Some("9.9"), (-32600, false)),
        ("tasks/send", Some("0.3"), (-32009, false)),
        ("tasks/get", Some("9.9"), (-32009, false)),
    ] {
        assert_eq!(told(method, says).await, expected, "{method} {says:?}");
    }
}
