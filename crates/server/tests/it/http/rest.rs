//! HTTP+JSON: paths, verbs, bodies, errors.

use serde_json::{Value, json};

use super::{
    Running,
    agent::{message, reply},
    client::reason,
};

#[tokio::test]
async fn a_message_is_sent_and_its_task_read() {
    let running = Running::start().await;
    for media_type in ["application/a2a+json", "application/json"] {
        let sent = running.send("POST", "/message:send").json(&message("hello")).header("content-type", media_type);
        let answer = sent.fetch().await;
        assert_eq!((answer.status, answer.media_type()), (200, "application/a2a+json"));
        let task = &answer.json()["task"];
        let read = running.send("GET", &format!("/tasks/{}", task["id"].as_str().unwrap())).fetch().await;
        assert_eq!(&read.json(), task);
    }
    let escaped = running.send("POST", "/message%3Asend").json(&message("hello")).fetch().await;
    assert_eq!(escaped.status, 200);
}

#[tokio::test]
async fn cancel_needs_neither_body_nor_media_type_and_a_body_needs_one() {
    let running = Running::start().await;
    for (body, media_type) in [("", ""), ("", "text/plain"), ("{}", "application/json"), (" ", "application/a2a+json")]
    {
        let task = running.task("ask").await;
        let path = format!("/tasks/{}:cancel", task["id"].as_str().unwrap());
        assert_eq!(running.send("POST", &path).body("{}").fetch().await.status, 415);
        let cancel = running.send("POST", &path).body(body);
        let cancel = if media_type.is_empty() { cancel } else { cancel.header("content-type", media_type) };
        let answer = cancel.fetch().await;
        assert_eq!(answer.json()["status"]["state"], "TASK_STATE_CANCELED", "{answer:?}");
    }
}

#[tokio::test]
async fn subscribe_accepts_get_and_post() {
    let running = Running::start().await;
    for verb in ["GET", "POST"] {
        let task = running.task("ask").await;
        let path = format!("/tasks/{}:subscribe", task["id"].as_str().unwrap());
        let mut feed = running.send(verb, &path).open().await;
        assert_eq!(feed.response().await.unwrap()["task"]["id"], task["id"]);
        running.call("SendMessage", &reply(&task, "hello")).await;
        let responses = feed.responses().await;
        assert_eq!(responses.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn an_error_before_a_stream_is_plain() {
    let running = Running::start().await;
    let ended = running.task("hello").await["id"].as_str().unwrap().to_owned();
    for verb in ["GET", "POST"] {
        let answer = running.send(verb, "/tasks/no-such:subscribe").fetch().await;
        assert_eq!((answer.status, reason(&answer.rest_error())), (404, "TASK_NOT_FOUND"));
        let answer = running.send(verb, &format!("/tasks/{ended}:subscribe")).fetch().await;
        assert_eq!((answer.status, reason(&answer.rest_error())), (400, "UNSUPPORTED_OPERATION"));
    }
    let mut params = message("hello");
    params["message"]["taskId"] = json!("no-such");
    let answer = running.send("POST", "/message:stream").json(&params).fetch().await;
    assert_eq!((answer.status, reason(&answer.rest_error())), (404, "TASK_NOT_FOUND"));
}

#[tokio::test]
async fn unknown_paths_are_404_and_wrong_verbs_405_with_allow() {
    let running = Running::start().await;
    for path in ["/nowhere", "/tasks/a/b/c", "/message:shout", "/tasks/x:dance", "//", "/%ff", "/.well-known/other"] {
        for verb in ["GET", "POST", "DELETE"] {
            let answer = running.send(verb, path).fetch().await;
            if !(path == "/tasks/x:dance" && verb == "GET") && answer.status != 405 {
                assert_eq!((answer.status, reason(&answer.rest_error())), (404, "METHOD_NOT_FOUND"), "{verb} {path}");
            }
        }
    }
    for (verb, path, allow) in [
        ("GET", "/message:send", "POST"),
        ("PUT", "/message:stream", "POST"),
        ("DELETE", "/tasks/x", "GET"),
        ("PATCH", "/tasks", "GET"),
        ("GET", "/tasks/x:cancel", "POST"),
        ("PUT", "/tasks/x/pushNotificationConfigs", "GET, POST"),
        ("POST", "/tasks/x/pushNotificationConfigs/y", "GET, DELETE"),
        ("POST", "/extendedAgentCard", "GET"),
    ] {
        let answer = running.send(verb, path).fetch().await;
        assert_eq!((answer.status, answer.header("allow")), (405, allow), "{verb} {path}");
        answer.rest_error();
        let answer = running.send("OPTIONS", path).fetch().await;
        assert_eq!((answer.status, answer.header("allow")), (204, allow), "{path}");
    }
}

#[tokio::test]
async fn head_is_get_without_a_body_and_opens_no_stream() {
    let running = Running::start().await;
    let id = running.task("ask").await["id"].as_str().unwrap().to_owned();
    let answer = running.send("HEAD", &format!("/tasks/{id}")).fetch().await;
    assert_eq!((answer.status, answer.media_type(), &*answer.body), (200, "application/a2a+json", &b""[..]));
    assert_eq!(running.send("HEAD", "/tasks/no-such").fetch().await.status, 404);
    assert_eq!(running.send("HEAD", &format!("/tasks/{id}:subscribe")).fetch().await.status, 405);
}

#[tokio::test]
async fn an_invalid_request_is_a_400() {
    let running = Running::start().await;
    for body in ["{", "", "[]", "1", "null", "\"x\""] {
        for path in ["/message:send", "/message:stream"] {
            let sent = running.send("POST", path).header("content-type", "application/a2a+json").body(body);
            let answer = sent.fetch().await;
            assert_eq!(answer.status, 400, "{body}");
            answer.rest_error();
        }
    }
    let answer = running.send("POST", "/message:send").header("content-type", "text/plain").body("{}").fetch().await;
    assert_eq!((answer.status, reason(&answer.rest_error())), (415, "CONTENT_TYPE_NOT_SUPPORTED"));
    for query in [
        "pageSize=0",
        "pageSize=ten",
        "status=made_up",
        "historyLength=-1",
        "pageToken=garbage",
        "includeArtifacts=maybe",
    ] {
        let answer = running.send("GET", &format!("/tasks?{query}")).fetch().await;
        assert_eq!((answer.status, reason(&answer.rest_error())), (400, "INVALID_PARAMS"), "{query}");
    }
}

#[tokio::test]
async fn webhooks_are_created_read_listed_and_deleted() {
    let running = Running::start().await;
    let id = running.task("ask").await["id"].as_str().unwrap().to_owned();
    let path = format!("/tasks/{id}/pushNotificationConfigs");
    let config = json!({"id": "a/b c:d?ü%", "url": "https://example.com/hook", "token": "secret"});
    let made = running.send("POST", &path).json(&config).fetch().await;
    assert_eq!((made.status, &made.json()["taskId"]), (200, &json!(id)));
    let one = format!("{path}/a%2Fb%20c%3Ad%3F%C3%BC%25");
    assert_eq!(running.send("GET", &one).fetch().await.json()["id"], config["id"]);
    let listed = running.send("GET", &path).fetch().await;
    assert!(!String::from_utf8_lossy(&listed.body).contains("secret"), "{listed:?}");
    assert_eq!(listed.json()["configs"].as_array().unwrap().len(), 1);
    for _ in 0..2 {
        let deleted = running.send("DELETE", &one).fetch().await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({})));
    }
    assert_eq!(running.send("GET", &one).fetch().await.status, 404);
}

#[tokio::test]
async fn an_empty_list_is_spelled_out() {
    let running = Running::start().await;
    let empty = json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0});
    assert_eq!(running.send("GET", "/tasks").fetch().await.json(), empty);
    assert_eq!(running.call("ListTasks", &Value::Null).await, empty);
}

#[tokio::test]
async fn a_query_takes_the_short_name_of_a_state() {
    let running = Running::start().await;
    running.task("ask").await;
    running.task("hello").await;
    for (status, found) in [
        ("TASK_STATE_COMPLETED", 1),
        ("completed", 1),
        ("Completed", 1),
        ("input-required", 1),
        ("input_required", 1),
        ("working", 0),
    ] {
        let answer = running.send("GET", &format!("/tasks?status={status}")).fetch().await;
        assert_eq!(answer.json()["totalSize"], found, "{status}: {answer:?}");
    }
}

#[tokio::test]
async fn every_wrong_field_is_named() {
    let running = Running::start().await;
    let fields = |error: &Value| -> Vec<String> {
        let violations = error.get("details").or_else(|| error.get("data")).unwrap()[1]["fieldViolations"].clone();
        violations.as_array().unwrap().iter().map(|it| it["field"].as_str().unwrap().to_owned()).collect()
    };
    let answer = running.send("GET", "/tasks?status=nope&pageSize=1000&historyLength=-1").fetch().await;
    assert_eq!(fields(&answer.rest_error()), ["status", "pageSize", "historyLength"]);
    let answer = running.send("GET", "/tasks?pageSize=x&status=nope&historyLength=y").fetch().await;
    let mut named = fields(&answer.rest_error());
    named.sort();
    assert_eq!(named, ["historyLength", "pageSize", "status"]);
    let params = json!({"status": "nope", "pageSize": 0});
    assert_eq!(fields(&running.error("ListTasks", &params).await), ["status", "pageSize"]);
}
