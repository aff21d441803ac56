//! The choice of the interface, and the requests to each interface.

use std::sync::{Arc, Mutex};

use nuncio_client::{Binding, Client, ClientError, Version};
use nuncio_model::{ErrorKind, card::AgentInterface};
use serde_json::json;

use crate::fake::{Fake, card, ok, status, task};

#[tokio::test]
async fn an_unreachable_interface_is_replaced_by_the_next() {
    let fake = Fake::start(|seen, fake| {
        if seen.path.contains(".well-known") {
            return ok(&card(&[("http://127.0.0.1:1", "JSONRPC"), (&fake.url, "HTTP+JSON")]));
        }
        ok(&task("TASK_STATE_WORKING"))
    })
    .await;
    let observed = Arc::new(Mutex::new(Vec::new()));
    let sink = observed.clone();
    let observe = move |interface: &AgentInterface, version: Version| {
        sink.lock().unwrap().push(format!("{} {version}", interface.protocol_binding));
    };
    let client = Client::builder().on_interface(observe).connect(&fake.url).await.unwrap();
    assert_eq!(client.interface().unwrap().protocol_binding, "JSONRPC");
    assert!(observed.lock().unwrap().is_empty(), "nothing was called");
    for _ in 0..2 {
        client.task("t1").await.unwrap();
    }
    assert_eq!(client.interface().unwrap().protocol_binding, "HTTP+JSON");
    assert_eq!(*observed.lock().unwrap(), ["HTTP+JSON 1.0"], "the interface that answered, once");
}

#[tokio::test]
async fn an_interface_that_answers_with_an_error_remains_in_use() {
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
async fn the_path_and_the_query_of_the_interface_remain() {
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

#[tokio::test]
async fn the_newest_common_version_of_any_card_is_used() {
    let fake = Fake::start(|seen, fake| match seen.path.as_str() {
        "/.well-known/agent.json" => {
            let mut card = fake.card("HTTP+JSON");
            card["url"] = json!("http://127.0.0.1:1");
            card["protocolVersion"] = json!("0.3.0");
            ok(&card)
        }
        path if path.contains(".well-known") => status(404, ""),
        _ => ok(&task("TASK_STATE_WORKING")),
    })
    .await;
    let client = Client::connect(&fake.url).await.unwrap();
    assert_eq!(client.version(), Some(Version::V1_0));
    assert_eq!(client.interface().unwrap().url, fake.url);
    client.task("t1").await.unwrap();
    assert_eq!(fake.calls()[0].header("a2a-version"), "1.0");
}

#[tokio::test]
async fn a_pinned_version_never_falls_back() {
    let fake = Fake::start(|_, fake| {
        let mut card = fake.card("JSONRPC");
        card["supportedInterfaces"][0]["protocolVersion"] = json!("9.9");
        ok(&card)
    })
    .await;
    let error = Client::builder().version("1.0.0").connect(&fake.url).await.unwrap_err();
    let ClientError::NoInterface { pinned, .. } = &error else { panic!("{error:?}") };
    assert_eq!(pinned.as_deref(), Some("1.0"));
    let offered = format!("`Fake` offers no interface of version 1.0, only JSONRPC 9.9 at {}", fake.url);
    assert!(error.to_string().starts_with(&offered), "{error}");
    assert!(error.to_string().ends_with("; request one of these versions, or none"), "{error}");
}

/// Only `Major.Minor` counts, so 1.1 is another version.
#[tokio::test]
async fn a_missing_common_version_differs_from_a_missing_interface() {
    for (version, binding, is_version) in
        [("1.1", "JSONRPC", true), ("v1.0", "GRPC", true), ("2.0", "HTTP+JSON", true), ("1.0", "PIGEON", false)]
    {
        let fake = Fake::start(move |_, fake| {
            let mut card = fake.card(binding);
            card["supportedInterfaces"][0]["protocolVersion"] = json!(version);
            ok(&card)
        })
        .await;
        let error = Client::connect(&fake.url).await.unwrap_err();
        let ClientError::NoInterface { is_for_version, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*is_for_version, is_version, "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("{binding} {version} at")) && text.contains("versions 1.0"), "{text}");
    }
}

#[tokio::test]
async fn a_pin_decides_the_version_of_a_card_without_a_version() {
    let fake = Fake::start(|seen, fake| {
        if seen.path.contains(".well-known") {
            return ok(&json!({"name": "Old", "url": fake.url, "version": "1", "capabilities": {}, "skills": []}));
        }
        ok(&json!({"jsonrpc": "2.0", "id": 1, "result": task("TASK_STATE_WORKING")}))
    })
    .await;
    let client = Client::builder().version("1.0").connect(&fake.url).await.unwrap();
    assert_eq!(client.version(), Some(Version::V1_0));
    client.task("t1").await.unwrap();
    assert_eq!(fake.calls()[0].json()["method"], "GetTask");
}

#[test]
fn an_endpoint_has_the_requested_version() {
    for version in Version::ALL {
        let endpoint = |binding| Client::builder().version(version.as_str()).endpoint("http://a.example", binding);
        let client = endpoint(Binding::JsonRpc).unwrap();
        assert_eq!(
            (client.version(), client.interface().unwrap().protocol_version.as_str()),
            (Some(*version), version.as_str())
        );
        for binding in Binding::ALL {
            match endpoint(binding) {
                Ok(client) => assert_eq!(client.version(), Some(*version)),
                Err(error) => assert!(
                    error.to_string().starts_with(&format!("version {version} has no {binding}; it has ")),
                    "{error}"
                ),
            }
        }
    }
}

/// Two cards of an agent: a card of 0.3, and an older card of 0.2 with the authentication of 0.1.
async fn with_an_older_card() -> Fake {
    Fake::start(|seen, fake| {
        let card = |version: &str| {
            json!({"name": "Old", "description": "", "url": format!("{}/{version}", fake.url), "version": "1",
                "protocolVersion": version, "capabilities": {}, "skills": [],
                "defaultInputModes": ["text"], "defaultOutputModes": ["text"]})
        };
        match seen.path.as_str() {
            "/agents/old/.well-known/agent-card.json" => ok(&card("0.3.0")),
            "/agents/old/.well-known/agent.json" => {
                let mut older = card("0.2.6");
                older["authentication"] = json!({"schemes": []});
                ok(&older)
            }
            path if path.contains(".well-known") || path == "/agents/old" => status(404, ""),
            "/0.2.6" if seen.json()["method"] == "tasks/send" => ok(&json!({"jsonrpc": "2.0", "id": 1,
                "result": {"id": "t", "sessionId": "c", "status": {"state": "completed"}}})),
            _ => ok(&json!({"jsonrpc": "2.0", "id": 1,
                "result": {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}}})),
        }
    })
    .await
}

#[tokio::test]
async fn a_pinned_older_version_is_found_in_the_older_card() {
    let fake = with_an_older_card().await;
    let agent = format!("{}/agents/old", fake.url);
    for (version, method) in [("0.3", "message/send"), ("0.2", "message/send"), ("0.1", "tasks/send")] {
        let client = Client::builder().version(version).connect(&agent).await.unwrap();
        assert_eq!(client.version().unwrap().as_str(), version);
        client.send("hello").await.unwrap();
        let call = fake.calls().into_iter().rfind(|call| call.method == "POST").unwrap();
        assert_eq!(call.json()["method"], method);
        assert_eq!(call.path, if version == "0.3" { "/0.3.0" } else { "/0.2.6" });
    }
    // Without a pinned version the first card counts.
    assert_eq!(Client::connect(&agent).await.unwrap().version(), Some(Version::V0_3));
    let error = Client::builder().version("1.0").connect(&agent).await.unwrap_err();
    let offered = format!("only JSONRPC 0.3.0 at {url}/0.3.0, JSONRPC 0.2.6 at {url}/0.2.6;", url = fake.url);
    assert!(error.to_string().contains(&offered), "{error}");
}
