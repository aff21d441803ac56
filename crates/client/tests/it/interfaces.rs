//! Which interface is used, and how each is spoken to.

use nuncio_client::{Binding, Client, ClientError};
use nuncio_model::ErrorKind;
use serde_json::json;

use crate::fake::{Fake, card, ok, status, task};

#[tokio::test]
async fn an_interface_that_cannot_be_reached_gives_way_to_the_next() {
    let fake = Fake::start(|seen, fake| {
        if seen.path.contains(".well-known") {
            return ok(&card(&[("http://127.0.0.1:1", "JSONRPC"), (&fake.url, "HTTP+JSON")]));
        }
        ok(&task("TASK_STATE_WORKING"))
    })
    .await;
    let client = Client::connect(&fake.url).await.unwrap();
    assert_eq!(client.interface().unwrap().protocol_binding, "JSONRPC");
    client.task("t1").await.unwrap();
    assert_eq!(client.interface().unwrap().protocol_binding, "HTTP+JSON");
}

#[tokio::test]
async fn an_interface_that_answers_with_an_error_does_not() {
    let fake = Fake::start(|seen, fake| {
        if seen.path.contains(".well-known") {
            return ok(&card(&[(&fake.url, "HTTP+JSON"), (&fake.url, "JSONRPC")]));
        }
        status(503, "gone fishing")
    })
    .await;
    let client = Client::connect(&fake.url).await.unwrap();
    let error = client.task("t1").await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::Unavailable);
    assert_eq!(fake.calls().len(), 1);
}

#[tokio::test]
async fn each_request_carries_version_extensions_and_the_interfaces_tenant() {
    let fake = Fake::start(|seen, fake| {
        if seen.path.contains(".well-known") {
            let mut card = fake.card(if seen.path.contains("rpc") { "JSONRPC" } else { "HTTP+JSON" });
            card["supportedInterfaces"][0]["tenant"] = json!("a/b c");
            return ok(&card);
        }
        match seen.method.as_str() {
            "GET" => ok(&task("TASK_STATE_WORKING")),
            _ => ok(&json!({"jsonrpc": "2.0", "id": 1, "result": task("TASK_STATE_WORKING")})),
        }
    })
    .await;
    for path in ["", "/rpc"] {
        let builder = Client::builder().extension("urn:one").extension("urn:two");
        builder
            .connect(format!("{}{path}/.well-known/agent-card.json", fake.url))
            .await
            .unwrap()
            .task("t1")
            .await
            .unwrap();
    }
    let [rest, rpc] = &fake.calls()[..] else { panic!("{:?}", fake.lines()) };
    for call in [rest, rpc] {
        assert_eq!(call.header("a2a-version"), "1.0");
        assert_eq!(call.header("a2a-extensions"), "urn:one, urn:two");
    }
    assert_eq!(rest.path, "/a%2Fb%20c/tasks/t1");
    assert_eq!(rpc.json()["params"]["tenant"], "a/b c");
}

#[tokio::test]
async fn a_pinned_version_is_sent_as_it_is() {
    let fake =
        Fake::start(
            |seen, fake| {
                if seen.path.contains(".well-known") { ok(&fake.card("HTTP+JSON")) } else { status(400, "no") }
            },
        )
        .await;
    let client = Client::builder().version("9.9").connect(&fake.url).await.unwrap();
    client.task("t1").await.unwrap_err();
    assert_eq!(fake.calls()[0].header("a2a-version"), "9.9");
}

#[tokio::test]
async fn a_path_and_a_query_of_the_interface_survive() {
    let fake = Fake::start(|_, _| ok(&json!({"tasks": []}))).await;
    let client = Client::builder().endpoint(&format!("{}/a/b/?k=1", fake.url), Binding::HttpJson).unwrap();
    let request = nuncio_model::op::ListTasksRequest { page_size: Some(3), ..Default::default() };
    client.tasks(request).await.unwrap();
    assert_eq!(fake.lines(), ["GET /a/b/tasks?k=1&pageSize=3"]);
}

#[tokio::test]
async fn an_address_that_a_binding_cannot_have_is_refused() {
    let error = Client::builder().endpoint("example.com/rpc", Binding::JsonRpc).unwrap_err();
    assert!(matches!(error, ClientError::Address { .. }), "{error:?}");
}
