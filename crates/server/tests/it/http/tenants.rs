//! Tenants: in the path, in the body, and apart from each other.

use serde_json::json;

use super::{Running, agent::message, client::reason};

#[tokio::test]
async fn a_tenant_may_lead_the_path() {
    let running = Running::start().await;
    let sent = running.send("POST", "/acme%20inc/message:send").json(&message("ask")).fetch().await;
    let id = sent.json()["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(running.send("GET", &format!("/acme%20inc/tasks/{id}")).fetch().await.status, 200);
    for path in [format!("/tasks/{id}"), format!("/other/tasks/{id}")] {
        assert_eq!(running.send("GET", &path).fetch().await.status, 404, "{path}");
    }
    let by_query = running.send("GET", &format!("/tasks/{id}?tenant=acme%20inc")).fetch().await;
    assert_eq!(by_query.status, 200);
    assert_eq!(running.call("GetTask", &json!({"id": id, "tenant": "acme inc"})).await["id"], id);
    let error = running.error("GetTask", &json!({"id": id})).await;
    assert_eq!(reason(&error), "TASK_NOT_FOUND");
    assert_eq!(running.send("GET", "/acme%20inc/tasks").fetch().await.json()["totalSize"], 1);
    assert_eq!(running.send("GET", "/tasks").fetch().await.json()["totalSize"], 0);
}

#[tokio::test]
async fn a_tenant_in_path_and_body_must_agree() {
    let running = Running::start().await;
    let mut params = message("hello");
    params["tenant"] = json!("other");
    let answer = running.send("POST", "/mine/message:send").json(&params).fetch().await;
    assert_eq!((answer.status, reason(&answer.rest_error())), (400, "INVALID_PARAMS"));
    assert_eq!(running.send("POST", "/other/message:send").json(&params).fetch().await.status, 200);
}

#[tokio::test]
async fn json_rpc_has_one_path() {
    let running = Running::start().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"});
    assert_eq!(running.send("POST", "/acme").json(&call).fetch().await.status, 404);
}
