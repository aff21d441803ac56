//! Errors of JSON-RPC with an HTTP status that is more precise than their code.

use axum::response::IntoResponse as _;
use http::{StatusCode, header};
use nuncio_client::{Binding, Client, ClientError, Failure, PeerCode};
use nuncio_model::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::fake::{Fake, status};

fn client(fake: &Fake, binding: Binding, version: &str) -> Client {
    Client::builder().version(version).endpoint(&format!("{}/", fake.url), binding).unwrap()
}

async fn refused(code: u16, error: Value, streams: bool) -> Error {
    let fake = Fake::start(move |_, _| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
        let headers = [(header::CONTENT_TYPE, "application/json"), (header::RETRY_AFTER, "7")];
        (StatusCode::from_u16(code).unwrap(), headers, body).into_response()
    })
    .await;
    let client = client(&fake, Binding::JsonRpc, "1.0");
    let error =
        if streams { client.send_stream("hello").await.unwrap_err() } else { client.send("hello").await.unwrap_err() };
    error.as_agent_error().cloned().unwrap_or_else(|| panic!("{error:?}"))
}

#[tokio::test]
async fn the_http_status_counts_in_json_rpc() {
    for (status, code, kind) in [
        (401, -32000, ErrorKind::Unauthenticated),
        (403, -32003, ErrorKind::PermissionDenied),
        (429, -32000, ErrorKind::ResourceExhausted),
        (503, -32603, ErrorKind::Unavailable),
        // A status without more facts does not change the kind of the code.
        (400, -32003, ErrorKind::PushNotificationNotSupported),
        (500, -32001, ErrorKind::TaskNotFound),
    ] {
        for streams in [false, true] {
            let error = refused(status, json!({"code": code, "message": "Unauthorized"}), streams).await;
            assert_eq!((error.kind(), error.message()), (kind, "Unauthorized"), "{status} {code}");
            assert_eq!(PeerCode::of(&error), Some(PeerCode::JsonRpc(code)));
            assert_eq!(error.retry_after().map(|after| after.as_secs()), Some(7));
        }
    }
}

#[tokio::test]
async fn a_reason_has_precedence_over_the_status() {
    let reason = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
        "domain": "a2a-protocol.org"}]);
    let error = refused(403, json!({"code": -32001, "message": "no", "data": reason}), false).await;
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn problems_of_fast_api_are_shown() {
    for (detail, message) in [
        (json!("nobody is in"), "nobody is in"),
        (
            json!([{"loc": ["body", "message", 0], "msg": "field required"}, {"msg": "b"}]),
            "body.message.0: field required; b",
        ),
        (json!({"reason": "x"}), r#"{"reason":"x"}"#),
    ] {
        for binding in [Binding::JsonRpc, Binding::HttpJson] {
            let body = json!({"detail": detail}).to_string();
            let fake = Fake::start(move |_, _| status(400, body.clone())).await;
            let error = client(&fake, binding, "1.0").send("hello").await.unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}

#[tokio::test]
async fn a_404_of_0_3_that_names_a_task_is_about_the_task() {
    let body = json!({"message": "Task nope was specified but does not exist"}).to_string();
    let fake = Fake::start(move |_, _| status(404, body.clone())).await;
    let error = client(&fake, Binding::HttpJson, "0.3").task("nope").await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::TaskNotFound);
    let fake = Fake::start(move |_, _| status(404, json!({"detail": "Not Found"}).to_string())).await;
    let error = client(&fake, Binding::HttpJson, "0.3").task("nope").await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::MethodNotFound);
}

#[tokio::test]
async fn an_empty_stream_differs_from_an_unreadable_answer() {
    for binding in [Binding::JsonRpc, Binding::HttpJson] {
        for media_type in ["text/event-stream", "application/json"] {
            let fake =
                Fake::start(move |_, _| ([(header::CONTENT_TYPE, media_type)], String::new()).into_response()).await;
            let error = match client(&fake, binding, "1.0").send_stream("hello").await {
                Ok(mut watch) => futures_util::StreamExt::next(&mut watch).await.expect("an item").unwrap_err(),
                Err(error) => error,
            };
            assert!(matches!(error, ClientError::Transport(Failure::Empty { .. })), "{error:?}");
            assert_eq!(fake.seen().len(), 1);
        }
    }
}
