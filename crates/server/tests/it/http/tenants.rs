//! Tenants: in the path, in the body, and separate from each other.

use nuncio_model::card::AgentInterface;
use nuncio_server::Tenants;
use serde_json::json;

use super::{
    Running,
    agent::{card, engine, message},
    client::reason,
};

async fn running() -> Running {
    Running::with(|builder| builder.tenants(Tenants::named(["acme inc", "other", "mine"]))).await
}

#[tokio::test]
async fn an_unknown_tenant_is_refused() {
    let (none, named) = (Running::start().await, running().await);
    for running in [&none, &named] {
        for (verb, path) in [
            ("POST", "/nope/message:send"),
            ("POST", "/nope/message:stream"),
            ("GET", "/nope/tasks"),
            ("GET", "/nope/tasks/t"),
            ("HEAD", "/nope/tasks"),
            ("POST", "/tenants/nope/messages"),
            ("GET", "/v1/tasks"),
            ("DELETE", "/nope/tasks/t"),
            ("GET", "/nope/message:send"),
            ("PUT", "/tenants/nope/messages"),
        ] {
            let sent = running.send(verb, path);
            let sent = if verb == "POST" { sent.json(&message("hi")) } else { sent };
            let answer = sent.fetch().await;
            assert_eq!(answer.status, 404, "{verb} {path}: {answer:?}");
            if verb != "HEAD" {
                let error = answer.rest_error();
                assert_eq!((reason(&error), &error["status"]), ("METHOD_NOT_FOUND", &json!("NOT_FOUND")));
                assert!(error["message"].as_str().unwrap().contains("is not a tenant of this agent"), "{error}");
            }
        }
        for params in [json!({"tenant": "nope"}), json!({"tenant": "nope", "pageSize": 1})] {
            let error = running.error("ListTasks", &params).await;
            assert_eq!((&error["code"], reason(&error)), (&json!(-32602), "INVALID_PARAMS"));
            assert_eq!(error["data"][1]["fieldViolations"][0]["field"], "tenant", "{error}");
        }
        let mut params = message("hi");
        params["tenant"] = json!("nope");
        assert_eq!(reason(&running.error("SendMessage", &params).await), "INVALID_PARAMS");
        for path in ["/tasks?tenant=nope", "/extendedAgentCard?tenant=nope"] {
            assert_eq!(running.send("GET", path).fetch().await.status, 400, "{path}");
        }
        assert_eq!(running.send("GET", "/tasks?tenant=").fetch().await.json()["totalSize"], 0);
    }
    // A path of a known tenant exists for other verbs.
    assert_eq!(named.send("DELETE", "/other/tasks/t").fetch().await.status, 405);
    let any = Running::with(|builder| builder.tenants(Tenants::any())).await;
    assert_eq!(any.send("GET", "/nope/tasks").fetch().await.status, 200);
}

#[tokio::test]
async fn the_tenants_of_the_card_are_known() {
    let mut named = card();
    let interface =
        AgentInterface { tenant: Some("north".into()), ..AgentInterface::new("http://localhost", "JSONRPC") };
    named.supported_interfaces.push(interface);
    let running = Running::of(engine().card(named).build(), |builder| builder).await;
    assert_eq!(running.send("GET", "/north/tasks").fetch().await.status, 200);
    assert_eq!(running.send("GET", "/south/tasks").fetch().await.status, 404);
}

#[tokio::test]
async fn a_tenant_may_lead_the_path() {
    let running = running().await;
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
    let running = running().await;
    let mut params = message("hello");
    params["tenant"] = json!("other");
    let answer = running.send("POST", "/mine/message:send").json(&params).fetch().await;
    assert_eq!((answer.status, reason(&answer.rest_error())), (400, "INVALID_PARAMS"));
    assert_eq!(running.send("POST", "/other/message:send").json(&params).fetch().await.status, 200);
}

#[tokio::test]
async fn json_rpc_has_no_tenant_paths() {
    let running = Running::start().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"});
    assert_eq!(running.send("POST", "/acme").json(&call).fetch().await.status, 404);
}
