//! Refused calls and their errors.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use nuncio_auth::Tokens;
use nuncio_model::{
    AgentCard, ErrorKind, Method,
    op::{GetExtendedAgentCardRequest, GetTaskRequest},
};
use nuncio_wire::{Version, Versions, proto};
use tokio::net::TcpStream;

use super::{
    Running,
    client::{Outgoing, framed, text},
    engine,
};

#[tokio::test]
async fn an_unknown_method_is_unimplemented() {
    let running = Running::start().await;
    for path in [
        "/lf.a2a.v1.A2AService/Nothing",
        "/a2a.v1.A2AService/Nothing",
        "/a2a.v2.A2AService/GetTask",
        "/",
        "/some.Other/Thing",
    ] {
        let answer = running.client.send(Outgoing::raw(path, framed(b""))).await;
        assert_eq!(answer.code(), 12, "{path}");
        assert!(answer.trailers.is_none());
    }
}

#[tokio::test]
async fn an_unsupported_version_is_refused_by_every_method() {
    let running = Running::with(|builder| builder.versions(Versions::only([Version::V1_0]))).await;
    for method in Method::ALL {
        let raw = || Outgoing::raw(proto::path(method), framed(b"")).without("a2a-version");
        for call in [raw(), raw().header("a2a-version", "99.0"), raw().header("a2a-version", "0.3")] {
            let answer = running.client.send(call).await;
            assert_eq!((answer.code(), answer.error().kind()), (9, ErrorKind::VersionNotSupported), "{method:?}");
            assert_eq!(answer.facts()["supportedVersions"], "1.0");
        }
    }
}

#[tokio::test]
async fn a_service_belongs_to_its_version() {
    let running = Running::start().await;
    let old = || Outgoing::raw("/a2a.v1.A2AService/GetTask", framed(b"\x0a\x07tasks/x"));
    let answer = running.client.send(old()).await;
    assert_eq!((answer.code(), answer.error().kind()), (9, ErrorKind::VersionNotSupported), "it says 1.0");
    let answer = running.client.send(old().without("a2a-version")).await;
    assert_eq!(answer.code(), 5, "there is no such task");
}

#[tokio::test]
async fn an_error_has_its_reason() {
    let running = Running::start().await;
    let answer = running.client.send(Outgoing::call(GetTaskRequest::new("nothing"))).await;
    assert_eq!((answer.code(), answer.error().kind()), (5, ErrorKind::TaskNotFound));
    assert_eq!(answer.facts()["taskId"], "nothing");
}

#[tokio::test]
async fn wrong_fields_are_named() {
    let running = Running::start().await;
    let mut request = text("hello");
    request.message.parts.clear();
    let error = running.client.send(Outgoing::call(request)).await.error();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(error.field_violations()[0].field, "message.parts");
}

#[tokio::test]
async fn an_invalid_message_is_an_invalid_argument() {
    let running = Running::start().await;
    let path = proto::path(Method::GetTask);
    for body in [&b""[..], b"\0\0\0\0\x09abc", b"\0\0\0\0\x01\xff", b"\x07\0\0\0\0", b"\0\0\0\0\0\0\0\0\0\0"] {
        let answer = running.client.send(Outgoing::raw(path, Bytes::from_static(body))).await;
        assert_eq!(answer.code(), 3, "{body:x?}");
    }
}

#[tokio::test]
async fn compressed_messages_are_refused_with_the_supported_encoding() {
    let running = Running::start().await;
    let answer = running.client.send(Outgoing::call(text("hello")).header("grpc-encoding", "gzip")).await;
    assert_eq!(answer.code(), 12);
    assert_eq!(answer.headers["grpc-accept-encoding"], "identity");
    let identity = Outgoing::call(text("hello")).header("grpc-encoding", "identity");
    running.client.send(identity).await.outcome().unwrap();
    let compressed = Outgoing::raw(proto::path(Method::GetTask), Bytes::from_static(b"\x01\0\0\0\0"));
    assert_eq!(running.client.send(compressed).await.code(), 12);
}

#[tokio::test]
async fn a_caller_without_credentials_is_unauthenticated() {
    let tokens = Tokens::new().with("alice", "correct horse battery").unwrap();
    let running = Running::with(|builder| builder.authenticator(tokens)).await;
    let call = || Outgoing::call(text("hello"));
    for call in [call(), call().header("authorization", "Bearer wrong")] {
        let answer = running.client.send(call).await;
        assert_eq!((answer.code(), answer.error().kind()), (16, ErrorKind::Unauthenticated));
    }
    let call = call().header("authorization", "Bearer correct horse battery");
    running.client.send(call).await.outcome().unwrap();
}

#[tokio::test]
async fn an_anonymous_caller_is_challenged_for_the_extended_card() {
    let tokens = Tokens::new().with("alice", "correct horse battery").unwrap().with_anonymous(true);
    let mut card = AgentCard::new("test", "Does what it is told.");
    card.capabilities.extended_agent_card = Some(true);
    let engine = engine().card(card.clone()).extended_card(card);
    let running = Running::of(engine, |builder| builder.authenticator(tokens)).await;
    running.client.send(Outgoing::call(text("hello"))).await.outcome().unwrap();
    let refused = running.client.send(Outgoing::call(GetExtendedAgentCardRequest::default())).await;
    assert_eq!(refused.error().kind(), ErrorKind::Unauthenticated);
    assert_eq!(refused.headers["www-authenticate"], "Bearer realm=\"a2a\"");
}

#[tokio::test]
async fn http_1_is_refused_by_http() {
    let running = Running::start().await;
    let stream = TcpStream::connect(running.address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(proto::path(Method::GetTask))
        .header("host", "localhost")
        .header("content-type", "application/grpc")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::HTTP_VERSION_NOT_SUPPORTED);
    assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn an_unknown_tenant_is_an_invalid_argument() {
    let running = Running::start().await;
    let mut call = GetTaskRequest::new("t");
    call.tenant = Some("nope".into());
    let answer = running.client.send(Outgoing::call(call)).await;
    assert_eq!((answer.code(), answer.error().kind()), (3, ErrorKind::InvalidParams));
    assert_eq!(answer.error().field_violations()[0].field, "tenant");
}
