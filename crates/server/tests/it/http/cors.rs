//! Pages in browsers.

use super::{Running, agent::message};

#[tokio::test]
async fn pages_may_not_call_unless_their_origin_is_configured() {
    let running = Running::start().await;
    for (path, status) in [("/.well-known/agent-card.json", 200), ("/tasks", 403)] {
        let answer = running.send("GET", path).header("origin", "https://evil.example").fetch().await;
        assert_eq!(answer.status, status, "{path}");
        assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("access-control-")), "{answer:?}");
    }
}

#[tokio::test]
async fn a_page_of_a_configured_origin_may_call_without_the_browsers_credentials() {
    let running = Running::with(|builder| builder.cors(["https://app.example".parse().unwrap()])).await;
    let preflight = running
        .send("OPTIONS", "/message:send")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type,a2a-version,x-a2a-extensions")
        .fetch()
        .await;
    assert_eq!(preflight.header("access-control-allow-origin"), "https://app.example");
    assert!(preflight.header("access-control-allow-methods").contains("POST"));
    for header in ["a2a-version", "x-a2a-extensions"] {
        assert!(preflight.header("access-control-allow-headers").contains(header), "{header}");
    }
    let call = running.rpc("SendMessage", &message("hello")).header("origin", "https://app.example").fetch().await;
    assert_eq!(call.header("access-control-allow-origin"), "https://app.example");
    assert!(call.header("access-control-expose-headers").contains("x-a2a-extensions"));
    let evil = running.rpc("SendMessage", &message("hello")).header("origin", "https://evil.example").fetch().await;
    assert_eq!(evil.header("access-control-allow-origin"), "");
    for answer in [preflight, call, evil] {
        assert!(!answer.headers.contains_key("access-control-allow-credentials"));
    }
}

#[tokio::test]
async fn every_page_may_call_if_any_origin_is_configured_without_credentials() {
    let running = Running::with(|builder| builder.cors(["*".parse().unwrap()])).await;
    let answer = running.send("GET", "/tasks").header("origin", "https://any.example").fetch().await;
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert!(!answer.headers.contains_key("access-control-allow-credentials"));
}
