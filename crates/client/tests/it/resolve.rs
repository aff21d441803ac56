//! The way from a reference to a card.

use axum::response::IntoResponse as _;
use http::header;
use nuncio_client::{AgentRef, Client, ClientError, Failure, Resolver};
use serde_json::json;

use crate::fake::{Fake, not_found, ok, status};

async fn resolve(text: &str) -> Result<nuncio_client::Resolved, ClientError> {
    Resolver::default().resolve(&text.parse::<AgentRef>().unwrap()).await
}

#[tokio::test]
async fn a_card_is_found_at_every_location() {
    for place in [
        "/weather/card",
        "/weather/card/.well-known/agent-card.json",
        "/weather/card/.well-known/agent.json",
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
    ] {
        let fake =
            Fake::start(move |seen, fake| if seen.path == place { ok(&fake.card("JSONRPC")) } else { not_found() })
                .await;
        let resolved = resolve(&format!("{}/weather/card", fake.url)).await.unwrap();
        assert_eq!(resolved.card.name, "Fake", "{place}");
        assert_eq!(resolved.url.unwrap().path(), place);
    }
}

#[tokio::test]
async fn the_error_names_all_tried_locations() {
    let fake = Fake::start(|seen, _| match seen.path.as_str() {
        "/x" => status(200, "<html>"),
        "/.well-known/agent.json" => status(403, ""),
        _ => not_found(),
    })
    .await;
    let error = resolve(&format!("{}/x", fake.url)).await.unwrap_err();
    let ClientError::CardNotFound(missing) = &error else { panic!("{error:?}") };
    let found: Vec<_> = missing.tried.iter().map(|(_, found)| found.as_str()).collect();
    assert_eq!(found, ["not a JSON object", "404 not found", "404 not found", "404 not found", "403 forbidden"]);
    assert!(error.to_string().contains("/x/.well-known/agent-card.json (404 not found)"), "{error}");
}

#[tokio::test]
async fn a_document_url_has_only_one_location() {
    let fake = Fake::start(|_, _| not_found()).await;
    resolve(&format!("{}/a/card.json", fake.url)).await.unwrap_err();
    assert_eq!(fake.lines(), ["GET /a/card.json"]);
}

#[tokio::test]
async fn an_unusable_card_differs_from_a_missing_card() {
    for (card, reason) in [
        (json!({"name": 7}), "name"),
        (json!({"name": "x"}), "neither supportedInterfaces nor url"),
        (json!({"name": "x", "supportedInterfaces": []}), "neither supportedInterfaces nor url"),
    ] {
        let fake = Fake::start(move |_, _| ok(&card)).await;
        let error = resolve(&fake.url).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert!(matches!(&error, ClientError::CardInvalid { document: Some(_), .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_invalid_document_at_a_json_url_is_an_error() {
    for (body, reason) in
        [("[]", "it is not a JSON object"), ("<html>", "it is not a JSON object"), ("{", "it is not JSON: EOF")]
    {
        let fake = Fake::start(move |_, _| status(200, body)).await;
        for place in ["/card.json", ""] {
            let error = resolve(&format!("{}{place}", fake.url)).await.unwrap_err();
            assert!(matches!(&error, ClientError::CardInvalid { document: Some(_), .. }), "{error:?}");
            let at = if place.is_empty() { "/.well-known/agent-card.json" } else { place };
            let said = format!("the card at {}{at} cannot be used: {reason}", fake.url);
            assert!(error.to_string().starts_with(&said), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("card.json");
        std::fs::write(&path, body).unwrap();
        let error = Client::connect(path.clone()).await.unwrap_err();
        let said = format!("the card at {} cannot be used: {reason}", path.display());
        assert!(error.to_string().starts_with(&said), "{error}");
    }
}

#[tokio::test]
async fn a_valid_card_has_precedence_over_an_invalid_card() {
    let fake = Fake::start(|seen, fake| match seen.path.as_str() {
        "/.well-known/agent.json" => ok(&fake.card("JSONRPC")),
        _ => status(200, "<html>"),
    })
    .await;
    assert_eq!(resolve(&fake.url).await.unwrap().card.name, "Fake");
    assert_eq!(resolve(&format!("{}/x", fake.url)).await.unwrap().card.name, "Fake");
}

#[tokio::test]
async fn a_missing_host_is_unreachable() {
    let error = resolve("127.0.0.1:1").await.unwrap_err();
    assert!(matches!(error, ClientError::Transport(Failure::Unreachable { .. })), "{error:?}");
    assert_eq!(error.to_string(), "cannot connect to http://127.0.0.1:1: connection refused");
}

#[tokio::test]
async fn plain_http_on_a_tls_url_is_reported() {
    let fake = Fake::start(|_, _| not_found()).await;
    let error = resolve(&fake.url.replace("http:", "https:")).await.unwrap_err();
    assert!(matches!(error, ClientError::Transport(Failure::Tls { .. })), "{error:?}");
    assert!(error.to_string().ends_with("does not speak TLS"), "{error}");
}

#[tokio::test]
async fn a_card_is_cached_as_long_as_the_agent_allows() {
    let fake = Fake::start(|seen, fake| {
        if seen.header("if-none-match") == "\"1\"" {
            return status(304, "");
        }
        let life = if seen.path.contains("fresh") { "public, max-age=60" } else { "no-cache" };
        let headers = [(header::ETAG, "\"1\""), (header::CACHE_CONTROL, life)];
        (headers, fake.card("JSONRPC").to_string()).into_response()
    })
    .await;
    let cards = Resolver::default();
    for name in ["fresh.json", "stale.json"] {
        let reference: AgentRef = format!("{}/{name}", fake.url).parse().unwrap();
        for _ in 0..3 {
            let resolved = cards.resolve(&reference).await.unwrap();
            assert_eq!(resolved.card.name, "Fake");
            assert!(!resolved.document.is_empty());
        }
    }
    assert_eq!(fake.lines(), ["GET /fresh.json", "GET /stale.json", "GET /stale.json", "GET /stale.json"]);
}

#[tokio::test]
async fn redirects_are_followed_up_to_the_limit() {
    let fake = Fake::start(|seen, fake| match seen.path.as_str() {
        "/.well-known/agent-card.json" => (http::StatusCode::FOUND, [(header::LOCATION, "/moved")]).into_response(),
        "/moved" => ok(&fake.card("JSONRPC")),
        _ => (http::StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/loop")]).into_response(),
    })
    .await;
    assert_eq!(resolve(&fake.url).await.unwrap().card.name, "Fake");
    let error = resolve(&format!("{}/loop.json", fake.url)).await.unwrap_err();
    assert!(error.to_string().contains("too many"), "{error}");
}

#[tokio::test]
async fn a_file_can_be_a_card() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    let fake = Fake::start(|_, _| ok(&json!({"jsonrpc": "2.0", "id": 1, "result": null}))).await;
    std::fs::write(&path, fake.card("JSONRPC").to_string()).unwrap();
    let client = Client::connect(path.clone()).await.unwrap();
    assert_eq!(client.interface().unwrap().url, fake.url);
    assert!(client.card_url().is_none());
    std::fs::remove_file(&path).unwrap();
    let error = Client::connect(path).await.unwrap_err();
    assert!(matches!(error, ClientError::CardNotFound(_)), "{error:?}");
}

#[tokio::test]
async fn an_event_stream_is_not_a_card() {
    let fake = Fake::start(|seen, fake| match seen.path.as_str() {
        "/rpc" => crate::fake::sse(&[(None, json!({}))], true),
        "/.well-known/agent-card.json" => ok(&fake.card("JSONRPC")),
        _ => not_found(),
    })
    .await;
    assert_eq!(resolve(&format!("{}/rpc", fake.url)).await.unwrap().card.name, "Fake");
}

#[tokio::test]
async fn other_json_does_not_hide_the_card() {
    for other in
        [json!({"status": "ok"}), json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "no"}})]
    {
        let at_x = other.clone();
        let fake = Fake::start(move |seen, _| if seen.path == "/x" { ok(&at_x) } else { not_found() }).await;
        let error = resolve(&format!("{}/x", fake.url)).await.unwrap_err();
        let ClientError::CardNotFound(missing) = &error else { panic!("{error:?}") };
        assert_eq!((missing.tried.len(), missing.tried[0].1.as_str()), (5, "JSON that is not a card"));
        let fake = Fake::start(move |seen, _| match seen.path.as_str() {
            "/x" => ok(&other),
            "/.well-known/agent-card.json" => ok(&json!({"name": "a", "skills": [7]})),
            _ => not_found(),
        })
        .await;
        let error = resolve(&format!("{}/x", fake.url)).await.unwrap_err();
        let said = format!("the card at {}/.well-known/agent-card.json cannot be used: skills", fake.url);
        assert!(error.to_string().starts_with(&said), "{error}");
    }
}

#[tokio::test]
async fn a_card_behind_credentials_differs_from_a_missing_card() {
    let fake = Fake::start(|seen, _| match seen.path.as_str() {
        "/.well-known/agent-card.json" => status(401, ""),
        _ => not_found(),
    })
    .await;
    let error = resolve(&fake.url).await.unwrap_err();
    assert!(matches!(&error, ClientError::CardNotFound(missing) if missing.wants_credentials), "{error:?}");
}
