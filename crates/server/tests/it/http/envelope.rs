//! The envelope of JSON-RPC: bodies that are not requests, and their errors.

use serde_json::{Value, json};

use super::{
    Running,
    agent::message,
    client::{Raw, reason},
};

async fn post(running: &Running, body: impl Into<bytes::Bytes>) -> Value {
    let answer = running.send("POST", "/").header("content-type", "application/json").body(body).fetch().await;
    assert_eq!((answer.status, answer.media_type()), (200, "application/json"), "{answer:?}");
    answer.json()
}

fn request(members: &Value) -> String {
    let mut request = json!({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "no-such"}});
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request.to_string()
}

#[tokio::test]
async fn invalid_json_is_a_parse_error_with_id_null() {
    let running = Running::start().await;
    let cut_off = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x""#;
    for body in ["{", "", "  ", "nonsense", "{'a':1}", cut_off, "\u{0}"] {
        let document = post(&running, body).await;
        assert_eq!((&document["error"]["code"], &document["id"]), (&json!(-32700), &Value::Null), "{body}");
    }
    assert_eq!(post(&running, &b"\xff\xfe{}"[..]).await["error"]["code"], -32700);
}

#[tokio::test]
async fn a_document_that_is_not_a_request_is_an_invalid_request() {
    let running = Running::start().await;
    for body in ["[]", "1", "\"text\"", "null", "true", "{}"] {
        let document = post(&running, body).await;
        assert_eq!((&document["error"]["code"], &document["id"]), (&json!(-32600), &Value::Null), "{body}");
    }
    for id in [json!({}), json!([]), json!(true), json!(1.5)] {
        let document = post(&running, request(&json!({"id": id}))).await;
        assert_eq!((&document["error"]["code"], &document["id"]), (&json!(-32600), &Value::Null), "{id}");
    }
    for members in [json!({"jsonrpc": "1.0"}), json!({"jsonrpc": 2.0}), json!({"method": null}), json!({"method": 7})] {
        let document = post(&running, request(&members)).await;
        assert_eq!((&document["error"]["code"], &document["id"]), (&json!(-32600), &json!(7)), "{members}");
    }
}

#[tokio::test]
async fn an_unknown_method_is_not_found() {
    let running = Running::start().await;
    for method in ["NoSuchMethod", "gettask", "", "rpc.discover"] {
        let document = post(&running, request(&json!({"method": method}))).await;
        assert_eq!((&document["error"]["code"], &document["id"]), (&json!(-32601), &json!(7)), "{method}");
    }
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let running = Running::start().await;
    let error = running.error("GetTask", &json!({"id": 5})).await;
    assert_eq!((&error["code"], reason(&error)), (&json!(-32602), "INVALID_PARAMS"));
    assert_eq!(error["data"][1]["@type"], "type.googleapis.com/google.rpc.BadRequest");
    assert_eq!(error["data"][1]["fieldViolations"][0]["field"], "id");
}

#[tokio::test]
async fn errors_of_the_protocol_have_a_reason() {
    let running = Running::start().await;
    let error = running.error("GetTask", &json!({"id": "no-such"})).await;
    assert_eq!((&error["code"], reason(&error)), (&json!(-32001), "TASK_NOT_FOUND"));
}

#[tokio::test]
async fn the_id_keeps_its_type() {
    let running = Running::start().await;
    for id in [json!(7), json!("7"), json!(0), json!(-1), json!(9_007_199_254_740_991_i64), json!(""), json!("a b/ç")]
    {
        assert_eq!(post(&running, request(&json!({"id": id}))).await["id"], id);
        let sent = request(&json!({"id": id, "method": "SendMessage", "params": message("hello")}));
        let document = post(&running, sent).await;
        assert_eq!(document["id"], id);
        assert_eq!(document["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
    assert_eq!(post(&running, request(&json!({"id": null}))).await["id"], Value::Null);
}

#[tokio::test]
async fn a_notification_is_executed_and_not_answered() {
    let running = Running::start().await;
    let mut params = message("hello");
    params["message"]["contextId"] = json!("of-a-notification");
    let notification = json!({"jsonrpc": "2.0", "method": "SendMessage", "params": params});
    for body in
        [notification, json!({"jsonrpc": "2.0", "method": "NoSuch"}), json!({"jsonrpc": "2.0", "method": "GetTask"})]
    {
        let answer = running.send("POST", "/").json(&body).fetch().await;
        assert_eq!((answer.status, &*answer.body), (204, &b""[..]), "{body}");
    }
    let tasks = running.call("ListTasks", &json!({"contextId": "of-a-notification"})).await;
    assert_eq!(tasks["totalSize"], 1);
}

#[tokio::test]
async fn media_types_other_than_json_are_refused() {
    let running = Running::start().await;
    let sent = |media_type: &str| {
        running
            .send("POST", "/")
            .header("content-type", media_type)
            .body(request(&json!({"method": "ListTasks", "params": {}})))
    };
    let undeclared = sent("x/y").without("content-type").fetch().await;
    assert_eq!((undeclared.status, reason(&undeclared.json()["error"])), (415, "CONTENT_TYPE_NOT_SUPPORTED"));
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let answer = sent(media_type).fetch().await;
        assert_eq!((answer.status, answer.media_type()), (415, "application/json"));
        assert_eq!(answer.json()["error"]["code"], -32005);
    }
    for media_type in ["application/json", "Application/JSON; charset=utf-8", "application/a2a+json"] {
        assert!(sent(media_type).fetch().await.json()["result"].is_object(), "{media_type}");
    }
}

#[tokio::test]
async fn the_root_accepts_post_only() {
    let running = Running::start().await;
    for verb in ["PUT", "DELETE", "PATCH"] {
        let answer = running.send(verb, "/").fetch().await;
        assert_eq!((answer.status, answer.header("allow")), (405, "GET, HEAD, POST, OPTIONS"), "{verb}");
    }
    let answer = running.send("OPTIONS", "/").fetch().await;
    assert_eq!((answer.status, answer.header("allow")), (204, "GET, HEAD, POST, OPTIONS"));
}

#[tokio::test]
async fn a_panic_of_the_agent_fails_its_task_and_nothing_else() {
    let running = Running::start().await;
    assert_eq!(running.task("panic").await["status"]["state"], "TASK_STATE_FAILED");
    assert_eq!(running.task("hello").await["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn errors_do_not_reveal_internals() {
    let running = Running::start().await;
    for body in ["{".to_owned(), request(&json!({"id": {}})), request(&json!({"params": {"id": 5}}))] {
        let said = post(&running, body).await.to_string().to_lowercase();
        for word in ["serde", "src/", ".rs", "axum", "hyper", "tokio"] {
            assert!(!said.contains(word), "{said}");
        }
    }
}

#[tokio::test]
async fn a_request_must_have_exactly_one_host() {
    let running = Running::start().await;
    for path in ["/", "/tasks", "/healthz"] {
        let none = running.send("GET", path).without("host").fetch().await;
        let two = running.send("GET", path).more("host", "other.test").fetch().await;
        assert_eq!((none.status, two.status), (400, 400), "{path}");
        assert_eq!(reason(&two.json()["error"]), "INVALID_REQUEST");
    }
    let mut raw = Raw::connect(running.address).await;
    raw.write("GET /healthz HTTP/1.0\r\n\r\n").await;
    assert!(raw.read_to_end().await.ends_with("alive\n"));
}

#[tokio::test]
async fn a_compressed_body_is_refused_in_the_error_format_of_the_binding() {
    let running = Running::start().await;
    let rpc = running.rpc("ListTasks", &json!({})).header("content-encoding", "gzip").fetch().await;
    assert_eq!((rpc.status, reason(&rpc.json()["error"])), (415, "CONTENT_TYPE_NOT_SUPPORTED"));
    let rest =
        running.send("POST", "/message:send").json(&message("hi")).header("content-encoding", "br").fetch().await;
    assert_eq!(reason(&rest.rest_error()), "CONTENT_TYPE_NOT_SUPPORTED");
    let plain = running.rpc("ListTasks", &json!({})).header("content-encoding", "Identity").fetch().await;
    assert!(plain.json()["result"].is_object());
}

#[tokio::test]
async fn ambiguous_transfer_codings_are_refused() {
    let running = Running::start().await;
    let ask = async |lines: &str| {
        let mut raw = Raw::connect(running.address).await;
        let head = format!("GET /tasks HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n{lines}\r\n0\r\n\r\n");
        raw.write(&head).await;
        raw.read_to_end().await
    };
    for lines in [
        "transfer-encoding: identity, chunked\r\n",
        "transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked, chunked\r\n",
        "transfer-encoding: gzip, chunked\r\n",
    ] {
        let answer = ask(lines).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{lines}: {answer}");
    }
    let answer = ask("connection: close\r\ntransfer-encoding: Chunked\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn ids_have_no_control_characters() {
    let running = Running::start().await;
    let fields = |error: &Value| -> Vec<String> {
        let violations = error["data"][1]["fieldViolations"].as_array().unwrap();
        violations.iter().map(|it| it["field"].as_str().unwrap().to_owned()).collect()
    };
    for id in ["a\nb", "\u{1b}[31m", "\u{0}", "\u{85}", "\t"] {
        let mut params = message("hi");
        params["message"]["contextId"] = json!(id);
        params["message"]["messageId"] = json!(id);
        let error = running.error("SendMessage", &params).await;
        assert_eq!(fields(&error), ["message.messageId", "message.contextId"], "{id:?}");
        let error = running.error("GetTask", &json!({"id": id})).await;
        assert_eq!((reason(&error), fields(&error)), ("INVALID_PARAMS", vec!["id".to_owned()]), "{id:?}");
    }
    let answer = running.send("GET", "/tasks/a%0Ab").fetch().await;
    assert_eq!((answer.status, reason(&answer.rest_error())), (400, "INVALID_PARAMS"));
}
