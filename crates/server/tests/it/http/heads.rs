//! The size of a request's head, which is counted as in HTTP/2 for both versions of HTTP.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_model::Size;
use nuncio_server::Limits;
use serde_json::Value;
use tokio::net::TcpStream;

use super::{
    Running,
    client::{Raw, reason},
};

const LIMIT: usize = 9_000;

/// The excess over the limit from which the server does not answer in the error format of the binding.
const BEYOND: usize = 64 * 1024;

async fn running() -> Running {
    let mut limits = Limits::default();
    limits.head = LIMIT;
    Running::with(|builder| builder.limits(limits)).await
}

/// The counted size of a header.
fn line((name, value): (&str, &str)) -> usize {
    name.len() + value.len() + 32
}

/// The value of `x-fill` with which a head with these lines has this size.
fn fill(size: usize, lines: &[(&str, &str)]) -> String {
    let others: usize = lines.iter().copied().map(line).sum();
    "x".repeat(size - others - line(("x-fill", "")))
}

/// Status and body over HTTP/1.1.
async fn http1(running: &Running, method: &str, path: &str, size: usize) -> (u16, String) {
    let headers = [("host", "localhost"), ("a2a-version", "1.0"), ("connection", "close")];
    let fill = fill(size, &[[(":method", method), (":path", path)].as_slice(), &headers].concat());
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    let mut raw = Raw::connect(running.address).await;
    raw.write(&format!("{method} {path} HTTP/1.1\r\n{headers}x-fill: {fill}\r\n\r\n")).await;
    let answer = raw.read_to_end().await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Status and body over HTTP/2; for gRPC, its status.
async fn http2(running: &Running, path: &str, content_type: &str, size: usize) -> (u16, String) {
    let stream = TcpStream::connect(running.address).await.unwrap();
    let (mut sender, connection) =
        http2::handshake::<_, _, Empty<Bytes>>(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let headers = [("a2a-version", "1.0"), ("content-type", content_type)];
    let line = [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", path)];
    let mut request =
        Request::get(format!("http://localhost{path}")).header("x-fill", fill(size, &[&line[..], &headers].concat()));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = sender.send_request(request.body(Empty::new()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    if let Some(code) = response.headers().get("grpc-status") {
        return (status, code.to_str().unwrap().to_owned());
    }
    (status, String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
}

#[tokio::test]
async fn a_head_at_the_limit_passes_and_one_byte_more_is_refused() {
    let running = running().await;
    let json = "application/json";
    for path in ["/tasks", "/healthz"] {
        assert_eq!(http1(&running, "GET", path, LIMIT).await.0, 200, "{path}");
        assert_eq!(http2(&running, path, json, LIMIT).await.0, 200, "{path}");
    }
    for size in [LIMIT + 1, 2 * LIMIT, LIMIT + BEYOND - 1] {
        for (status, body) in
            [http1(&running, "GET", "/tasks", size).await, http2(&running, "/tasks", json, size).await]
        {
            let body: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{size}: {error}: {body:?}"));
            let error = &body["error"];
            assert_eq!((status, &error["code"], reason(error)), (431, &431.into(), "HEAD_TOO_LARGE"), "{size}");
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains(&Size::of(size).to_string()) && message.contains(&Size::of(LIMIT).to_string()),
                "{message}"
            );
            assert_eq!(error["details"][0]["metadata"]["limit"], "head");
        }
        let (status, body) = http1(&running, "POST", "/", size).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["error"]["code"], reason(&body["error"])), (431, &(-32600).into(), "HEAD_TOO_LARGE"));
        let grpc = http2(&running, "/lf.a2a.v1.A2AService/GetTask", "application/grpc", size).await;
        assert_eq!(grpc, (200, "8".to_owned()), "{size}");
    }
}

#[tokio::test]
async fn a_head_far_beyond_the_limit_is_read_no_further() {
    let running = running().await;
    let (status, body) = http2(&running, "/tasks", "application/json", LIMIT + BEYOND).await;
    assert_eq!((status, body.as_str()), (431, ""));
    let mut raw = Raw::connect(running.address).await;
    // As much as the server reads, so that no byte is unread when the connection is closed.
    let begin = "GET /tasks HTTP/1.1\r\nhost: localhost\r\nx-fill: ";
    raw.write(&format!("{begin}{}", "x".repeat(LIMIT + BEYOND - begin.len()))).await;
    let answer = raw.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 431 ") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn over_http1_a_head_has_a_hundred_headers_at_most() {
    let running = running().await;
    for (count, status) in [(100, "200"), (101, "431")] {
        let more: String = (0..count - 2).map(|number| format!("x-{number}: \r\n")).collect::<Vec<_>>().concat();
        let mut raw = Raw::connect(running.address).await;
        raw.write(&format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{more}\r\n")).await;
        let answer = raw.read_to_end().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{count}: {answer}");
    }
}
