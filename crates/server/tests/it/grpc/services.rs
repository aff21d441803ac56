//! The other services: health and reflection.

use std::time::Duration;

use http_body_util::BodyExt as _;
use nuncio_auth::Tokens;
use nuncio_model::op::SendStreamingMessageRequest;
use nuncio_server::Limits;
use nuncio_wire::proto::{SERVICE, health, reflection};

use super::{
    Running,
    client::{Outgoing, framed, text},
};

const SERVING: &[u8] = b"\x08\x01";
const NOT_SERVING: &[u8] = b"\x08\x02";
const SERVICE_UNKNOWN: &[u8] = b"\x08\x03";

/// `HealthCheckRequest { service }`.
fn health_request(path: &str, service: &str) -> Outgoing {
    let mut message = vec![0x0a, u8::try_from(service.len()).unwrap()];
    message.extend_from_slice(service.as_bytes());
    Outgoing::raw(path, framed(&message)).without("a2a-version")
}

#[tokio::test]
async fn health_is_public() {
    let tokens = Tokens::new().with("alice", "correct horse battery").unwrap();
    let running = Running::with(|builder| builder.authenticator(tokens)).await;
    for service in ["", SERVICE, health::SERVICE] {
        let answer = running.client.send(health_request(health::CHECK, service)).await;
        assert_eq!((answer.code(), &answer.messages[0][..]), (0, SERVING), "{service}");
    }
    assert_eq!(running.client.send(health_request(health::CHECK, "some.Other")).await.code(), 5);
    let path = reflection::PATHS[0];
    assert_eq!(running.client.send(Outgoing::raw(path, framed(b"\x3a\0"))).await.code(), 16);
}

#[tokio::test]
async fn watchers_are_notified_of_the_shutdown() {
    let mut limits = Limits::default();
    limits.drain = Duration::from_millis(50);
    let mut running = Running::with(|builder| builder.limits(limits)).await;
    let client = running.client.clone();
    let unknown = tokio::spawn(async move { client.send(health_request(health::WATCH, "some.Other")).await });
    let mut watch = running.client.open(health_request(health::WATCH, SERVICE)).await.into_body();
    let first = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, framed(SERVING));
    running.stop();
    let second = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(second, framed(NOT_SERVING));
    assert!(watch.frame().await.unwrap().unwrap().is_trailers());
    let unknown = unknown.await.unwrap();
    assert_eq!((unknown.code(), &unknown.messages[..]), (0, &[SERVICE_UNKNOWN.into()][..]));
}

#[tokio::test]
async fn reflection_describes_the_services() {
    let running = Running::start().await;
    for path in reflection::PATHS {
        let questions = [framed(b"\x3a\0"), framed(b"\x1a\x13lf/a2a/v1/a2a.proto")].concat();
        let answer = running.client.send(Outgoing::raw(path, questions).without("a2a-version")).await;
        assert_eq!((answer.code(), answer.messages.len()), (0, 2));
        let list = String::from_utf8_lossy(&answer.messages[0]).into_owned();
        assert!(list.contains(SERVICE), "{list}");
        assert!(answer.messages[1].len() > 10_000);
        assert_eq!(running.client.send(Outgoing::raw(path, framed(b"\xff"))).await.code(), 3);
    }
}

/// The callers are not authenticated, and must not affect authenticated callers.
#[tokio::test]
async fn health_checks_do_not_count_in_the_limits_of_callers() {
    let mut limits = Limits::default();
    (limits.body, limits.body_bytes, limits.streams) = (10_000, 10_000, 1);
    let running = Running::with(|builder| builder.limits(limits)).await;
    let large = "x".repeat(100);
    let unknown = running.client.send(health_request(health::CHECK, &large)).await;
    assert_eq!(unknown.code(), 5);
    let too_large = Outgoing::raw(health::CHECK, framed(&[0; 2_000])).without("a2a-version");
    assert_eq!(running.client.send(too_large).await.code(), 8);
    let mut watches = Vec::new();
    for _ in 0..3 {
        let mut watch = running.client.open(health_request(health::WATCH, "")).await.into_body();
        assert_eq!(watch.frame().await.unwrap().unwrap().into_data().unwrap(), framed(SERVING));
        watches.push(watch);
    }
    let stream = SendStreamingMessageRequest(text("hello"));
    assert_eq!(running.client.send(Outgoing::call(stream)).await.code(), 0);
}
