//! HTTP+JSON of 0.3, for clients that know only 0.3 and declare no version.

use nuncio_auth::Tokens;
use nuncio_wire::{Version, Versions};
use serde_json::{Value, json};

use super::{
    Running,
    client::{Answer, Outgoing},
};

async fn running() -> Running {
    Running::with(|builder| builder.versions(Versions::only([Version::V0_3, Version::V1_0]))).await
}

fn send(running: &Running, verb: &str, path: &str) -> Outgoing {
    running.send(verb, path).without("a2a-version")
}

fn message(text: &str) -> Value {
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": text}]}})
}

async fn post(running: &Running, path: &str, body: &Value) -> Answer {
    send(running, "POST", path).json(body).fetch().await
}

#[tokio::test]
async fn a_message_is_sent_and_its_task_read() {
    let running = running().await;
    let answer = post(&running, "/v1/message:send", &message("hello")).await;
    assert_eq!((answer.status, answer.media_type()), (200, "application/json"));
    let task = &answer.json()["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{answer:?}");
    assert_eq!(task["history"][0]["content"][0]["text"], "hello");
    let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
    assert_eq!(&send(&running, "GET", &path).fetch().await.json(), task);
    // A body as in the text of the specification, for clients that follow only the text.
    let kinded = json!({"message": {
        "kind": "message", "messageId": "m-2", "role": "user", "parts": [{"kind": "text", "text": "hello"}],
    }});
    assert_eq!(
        post(&running, "/v1/message:send", &kinded).await.json()["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn a_stream_has_bare_events_of_which_the_last_is_final() {
    let running = running().await;
    let mut feed = send(&running, "POST", "/v1/message:stream").json(&message("stream 3")).open().await;
    let responses = feed.responses().await;
    assert!(responses[0]["task"].is_object(), "{responses:?}");
    assert!(responses.iter().any(|response| response["artifactUpdate"].is_object()));
    let last = &responses.last().unwrap()["statusUpdate"];
    assert_eq!((&last["final"], &last["status"]["state"]), (&json!(true), &json!("TASK_STATE_COMPLETED")));
}

#[tokio::test]
async fn a_subscription_ends_when_the_task_needs_its_client() {
    let running = running().await;
    for verb in ["GET", "POST"] {
        let asked = post(&running, "/v1/message:send", &message("ask")).await.json()["task"].clone();
        assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let path = format!("/v1/tasks/{}:subscribe", asked["id"].as_str().unwrap());
        let mut feed = send(&running, verb, &path).open().await;
        assert_eq!(feed.response().await.unwrap()["task"]["id"], asked["id"]);
        let mut body = message("hello");
        body["message"]["taskId"] = asked["id"].clone();
        post(&running, "/v1/message:send", &body).await;
        let responses = feed.responses().await;
        assert_eq!(responses.last().unwrap()["statusUpdate"]["final"], true);
        // An ended task is sent once, and the stream ends.
        let mut feed = send(&running, verb, &path).open().await;
        assert_eq!(feed.responses().await[0]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn webhooks_have_the_task_id_of_the_path() {
    let running = running().await;
    let task = post(&running, "/v1/message:send", &message("ask")).await.json()["task"]["id"].clone();
    let task = task.as_str().unwrap();
    let path = format!("/v1/tasks/{task}/pushNotificationConfigs");
    let body = json!({"config": {"pushNotificationConfig": {"url": "https://example.com/hook"}}});
    let answer = post(&running, &path, &body).await;
    assert_eq!(answer.json()["name"], format!("tasks/{task}/pushNotificationConfigs/{task}"), "{answer:?}");
    let listed = send(&running, "GET", &path).fetch().await.json();
    assert_eq!(listed["configs"][0]["pushNotificationConfig"]["url"], "https://example.com/hook");
    let one = format!("{path}/{task}");
    assert_eq!(send(&running, "GET", &one).fetch().await.json()["pushNotificationConfig"]["id"], task);
    assert_eq!(send(&running, "DELETE", &one).fetch().await.status, 200);
    assert_eq!(send(&running, "GET", &path).fetch().await.json(), json!({}));
}

#[tokio::test]
async fn errors_have_the_statuses_and_bodies_of_0_3() {
    let running = running().await;
    let answer = send(&running, "GET", "/v1/tasks/no-such").fetch().await;
    assert_eq!((answer.status, answer.json()["code"].as_i64()), (404, Some(-32001)));
    let answer = post(&running, "/v1/message:send", &json!({})).await;
    assert_eq!((answer.status, answer.json()["code"].as_i64()), (422, Some(-32602)), "{answer:?}");
    let answer = send(&running, "GET", "/v1/tasks").fetch().await;
    assert_eq!((answer.status, answer.json()["code"].as_i64()), (501, Some(-32004)));
    let answer = send(&running, "PUT", "/v1/message:send").fetch().await;
    assert_eq!((answer.status, answer.header("allow")), (405, "POST"));
}

#[tokio::test]
async fn without_an_extended_card_rest_returns_the_public_card_and_json_rpc_an_error() {
    let running = running().await;
    let answer = send(&running, "GET", "/v1/card").fetch().await;
    assert_eq!((answer.status, answer.json()["protocolVersion"].as_str()), (200, Some("0.3.0")), "{answer:?}");
    let public = running.send("GET", "/.well-known/agent-card.json").fetch().await.json();
    assert_eq!((&answer.json()["name"], &answer.json()["url"]), (&public["name"], &public["url"]));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/list"});
    let answer = send(&running, "POST", "/").json(&list).fetch().await;
    assert_eq!(answer.json()["error"]["code"], -32004, "{answer:?}");
    for (version, code) in [("0.3", -32007), ("1.0", -32004)] {
        let method = if version == "0.3" { "agent/getAuthenticatedExtendedCard" } else { "GetExtendedAgentCard" };
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method});
        let answer = send(&running, "POST", "/").header("a2a-version", version).json(&call).fetch().await;
        assert_eq!(answer.json()["error"]["code"], code, "{answer:?}");
    }
}

#[tokio::test]
async fn the_extended_card_has_the_schemes_of_the_proto() {
    let tokens = Tokens::new().with("alice", "correct horse battery").unwrap();
    let versions = Versions::only([Version::V0_3, Version::V1_0]);
    let running = Running::with(|builder| builder.versions(versions).authenticator(tokens)).await;
    assert_eq!(send(&running, "GET", "/v1/card").fetch().await.status, 401);
    let call = send(&running, "GET", "/v1/card").header("authorization", "Bearer correct horse battery");
    let answer = call.fetch().await;
    let card = answer.json();
    assert_eq!(card["description"], "Does more for those it knows.", "{answer:?}");
    assert_eq!(
        card["capabilities"],
        json!({
            "streaming": true, "pushNotifications": true,
            "extensions": card["capabilities"]["extensions"],
        })
    );
    let bearer = json!({"type": "http", "scheme": "Bearer", "httpAuthSecurityScheme": {"scheme": "Bearer"}});
    assert_eq!(card["securitySchemes"]["bearer"], bearer);
    assert_eq!((&card["supportsAuthenticatedExtendedCard"], &card["protocolVersion"]), (&json!(true), &json!("0.3.0")));
}

/// Asserts that a body has the format of 0.3 and not the format of 1.0.
fn is_of_0_3(answer: &Answer) -> bool {
    let body = answer.json();
    answer.media_type() == "application/json" && body["code"].is_i64() && body["message"].is_string()
}

#[tokio::test]
async fn early_refusals_have_the_format_of_0_3() {
    let tokens = || Tokens::new().with("alice", "correct horse battery").unwrap();
    let bearer = ("authorization", "Bearer correct horse battery");
    // Below the path of 0.3 if the server speaks more versions, and at every path if the server speaks only 0.3.
    for (versions, path, of_0_3) in [
        (vec![Version::V0_3, Version::V1_0], "/v1/nowhere", true),
        (vec![Version::V0_3, Version::V1_0], "/nowhere", false),
        (vec![Version::V0_3], "/nowhere", true),
        (vec![Version::V0_2, Version::V0_1], "/nowhere", true),
        (vec![Version::V1_0], "/v1/nowhere", false),
    ] {
        let running =
            Running::with(|builder| builder.versions(Versions::only(versions.clone())).authenticator(tokens())).await;
        let stranger = send(&running, "GET", path).fetch().await;
        assert_eq!((stranger.status, is_of_0_3(&stranger)), (401, of_0_3), "{versions:?} {path}: {stranger:?}");
        let lost = send(&running, "GET", path).header(bearer.0, bearer.1).fetch().await;
        assert_eq!((lost.status, is_of_0_3(&lost)), (404, of_0_3), "{versions:?} {path}: {lost:?}");
    }
    let running = Running::with(|builder| builder.authenticator(tokens())).await;
    let wrong = send(&running, "PUT", "/v1/message:send").header(bearer.0, bearer.1).fetch().await;
    assert_eq!((wrong.status, is_of_0_3(&wrong)), (405, true), "{wrong:?}");
    // For a client that declares 1.0, `/v1` is a tenant.
    let tenant = running.send("GET", "/v1/tasks").fetch().await;
    assert_eq!((tenant.status, is_of_0_3(&tenant)), (401, false), "{tenant:?}");
}

#[tokio::test]
async fn missing_credentials_in_json_rpc_have_the_format_of_the_version() {
    let tokens = || Tokens::new().with("alice", "correct horse battery").unwrap();
    let told = async |versions: &[Version], says: Option<&str>| {
        let versions = Versions::only(versions.iter().copied());
        let running = Running::with(|builder| builder.versions(versions).authenticator(tokens())).await;
        let call = send(&running, "POST", "/").json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}));
        let answer = match says {
            Some(version) => call.header("a2a-version", version).fetch().await,
            None => call.fetch().await,
        };
        assert_eq!(answer.status, 401);
        let error = answer.json()["error"].clone();
        (error["code"].clone(), error["data"].is_array())
    };
    assert_eq!(told(&[Version::V0_3], None).await, (json!(-32091), false), "facts of 0.3 are no list");
    assert_eq!(told(&[Version::V0_1], None).await, (json!(-32007), false));
    assert_eq!(told(&[Version::V0_1, Version::V1_0], Some("0.1")).await, (json!(-32007), false));
    assert_eq!(told(&[Version::V0_1, Version::V1_0], None).await, (json!(-32091), true));
    let all = Version::ALL;
    assert_eq!(told(all, None).await, (json!(-32091), false), "to say nothing is to mean 0.3");
    assert_eq!(told(all, Some("1.0")).await, (json!(-32091), true));
    assert_eq!(told(all, Some("9.9")).await, (json!(-32091), true), "an unknown version");
}
