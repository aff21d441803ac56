//! JSON-RPC and HTTP+JSON over HTTP/2 with prior knowledge.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_server::Limits;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::{Running, agent::message, client::until};

struct Client(http2::SendRequest<Full<Bytes>>);

impl Client {
    async fn connect(running: &Running) -> Self {
        let stream = TcpStream::connect(running.address).await.unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Response<Incoming> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://localhost{path}"))
            .header("a2a-version", "1.0")
            .header("content-type", "application/json")
            .body(Full::new(if body.is_null() { Bytes::new() } else { body.to_string().into() }));
        self.0.clone().send_request(request.unwrap()).await.unwrap()
    }
}

async fn whole(response: Response<Incoming>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn calls_and_streams_share_a_connection() {
    let running = Running::start().await;
    let client = Client::connect(&running).await;
    let call = |method: &str, text: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": message(text)});
    let silent = client.send("POST", "/", &call("SendStreamingMessage", "silent")).await;
    assert_eq!(silent.headers()["content-type"], "text/event-stream");
    for _ in 0..50 {
        let answer = whole(client.send("POST", "/", &call("SendMessage", "hello")).await).await;
        assert!(String::from_utf8_lossy(&answer).contains("TASK_STATE_COMPLETED"));
    }
    let stream = whole(client.send("POST", "/message:stream", &message("stream 1000")).await).await;
    assert_eq!(String::from_utf8_lossy(&stream).matches("data: ").count(), 1003);
    drop(silent);
}

#[tokio::test]
async fn the_card_and_head_requests_are_as_they_are_over_http_1() {
    let running = Running::start().await;
    let client = Client::connect(&running).await;
    let card = client.send("GET", "/.well-known/agent-card.json", &Value::Null).await;
    let card: Value = serde_json::from_slice(&whole(card).await).unwrap();
    assert_eq!(card["supportedInterfaces"][0]["url"], "http://localhost/");
    for path in ["/.well-known/agent-card.json", "/tasks", "/healthz"] {
        let response = client.send("HEAD", path, &Value::Null).await;
        assert_eq!(response.status(), 200);
        assert!(whole(response).await.is_empty());
    }
    assert_eq!(client.send("GET", "/nowhere", &Value::Null).await.status(), 404);
}

async fn limited(change: impl FnOnce(&mut Limits)) -> Running {
    let mut limits = Limits::default();
    change(&mut limits);
    Running::with(|builder| builder.limits(limits)).await
}

/// The first bytes of an HTTP/2 client, with these settings.
fn preface(settings: &[u8]) -> Vec<u8> {
    let length = u8::try_from(settings.len()).unwrap();
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &[0, 0, length, 4, 0, 0, 0, 0, 0], settings].concat()
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed() {
    let running = limited(|limits| limits.head_time = Duration::from_millis(200)).await;
    let unended_headers = [preface(&[]).as_slice(), &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]].concat();
    for begin in [preface(&[]), unended_headers] {
        let (mut stream, begun) = (TcpStream::connect(running.address).await.unwrap(), Instant::now());
        stream.write_all(&begin).await.unwrap();
        // The client does not acknowledge, so the server closes after a limited wait.
        let mut all = Vec::new();
        timeout(Duration::from_secs(20), stream.read_to_end(&mut all)).await.expect("still open").unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(200));
    }
}

#[tokio::test]
async fn a_connection_is_closed_when_it_is_idle_and_not_while_a_stream_is_open() {
    let running = limited(|limits| limits.head_time = Duration::from_millis(200)).await;
    let stream = TcpStream::connect(running.address).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let client = Client(sender);
    let stream = whole(client.send("POST", "/message:stream", &message("slow 900")).await).await;
    assert!(String::from_utf8_lossy(&stream).contains("TASK_STATE_COMPLETED"));
    let ended = Instant::now();
    timeout(Duration::from_secs(20), connection).await.expect("still open").unwrap().unwrap();
    assert!(ended.elapsed() >= Duration::from_millis(150));
    assert!(ended.elapsed() < Duration::from_secs(4), "a client that takes a farewell goes at once");
}

#[tokio::test]
async fn an_unread_stream_is_reset_and_other_streams_continue() {
    let running = limited(|limits| limits.stall_time = Duration::from_millis(300)).await;
    let stream = TcpStream::connect(running.address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(20_000).initial_connection_window_size(1 << 24);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let client = Client(sender);
    let unread = client.send("POST", "/message:stream", &message("stream 1000")).await;
    let large = client.send("POST", "/message:send", &message(&"x".repeat(100_000))).await;
    let silent = client.send("POST", "/message:stream", &message("silent")).await;
    // Longer than the limit for unread data.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for unread in [unread, large] {
        let error = timeout(Duration::from_secs(20), unread.into_body().collect()).await.expect("no end").unwrap_err();
        assert!(error.to_string().contains("error"), "{error}");
    }
    let mut silent = silent.into_body();
    assert!(silent.frame().await.unwrap().is_ok(), "a stream with nothing to say is no stalled one");
    assert!(timeout(Duration::from_millis(500), silent.collect()).await.is_err(), "it goes on");
    assert_eq!(client.send("GET", "/healthz", &Value::Null).await.status(), 200);
}

#[tokio::test]
async fn a_slow_reader_gets_the_whole_answer() {
    let running = limited(|limits| limits.stall_time = Duration::from_millis(500)).await;
    let stream = TcpStream::connect(running.address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(16_384).initial_connection_window_size(1 << 20);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let client = Client(sender);
    let text = "x".repeat(200_000);
    let mut body = client.send("POST", "/message:send", &message(&text)).await.into_body();
    let (mut read, begun) = (0, Instant::now());
    while let Some(frame) = body.frame().await {
        read += frame.unwrap().into_data().unwrap().len();
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert!(read > text.len() && begun.elapsed() > Duration::from_millis(600), "{read} in {:?}", begun.elapsed());
}

/// A large answer counts until its stream is reset.
#[tokio::test]
async fn an_unread_answer_is_released_when_its_stream_is_reset() {
    let running = limited(|limits| {
        (limits.stall_time, limits.answer_bytes) = (Duration::from_secs(3), 150_000);
    })
    .await;
    let stream = TcpStream::connect(running.address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(20_000).initial_connection_window_size(1 << 24);
    let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let unread = Client(sender).send("POST", "/message:send", &message("repeat 200000")).await;
    assert_eq!(unread.status(), 200);
    // Another length, so that the answers share no bytes.
    let other = running.task("repeat 100000");
    assert!(timeout(Duration::from_millis(100), other).await.is_err(), "it waits for room");
    let list = async || running.send("GET", "/tasks?pageSize=1").fetch().await.status;
    assert_eq!(list().await, 503);
    until(async || list().await == 200).await;
    let error = timeout(Duration::from_secs(20), unread.into_body().collect()).await.expect("no end").unwrap_err();
    assert!(error.to_string().contains("error"), "{error}");
}
