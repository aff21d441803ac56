//! A client of HTTP/1.1 that shows all details of a response, with one connection for each request.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use nuncio_wire::sse::{Decoder, Event};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A request. The version is 1.0 by default.
pub(super) struct Outgoing {
    address: SocketAddr,
    request: http::request::Builder,
    body: Bytes,
}

/// A complete response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Outgoing {
    pub(super) fn new(address: SocketAddr, method: &str, path: &str) -> Self {
        let request = Request::builder().method(method).uri(path);
        Self { address, request, body: Bytes::new() }.header("host", address.to_string()).header("a2a-version", "1.0")
    }

    /// Sets a header and replaces an existing value.
    pub(super) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name: http::HeaderName = name.parse().unwrap();
        let value = http::HeaderValue::from_bytes(value.as_ref()).unwrap();
        self.request.headers_mut().unwrap().insert(name, value);
        self
    }

    /// Adds a value to a header.
    pub(super) fn more(mut self, name: &str, value: &str) -> Self {
        let name: http::HeaderName = name.parse().unwrap();
        self.request.headers_mut().unwrap().append(name, value.parse().unwrap());
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().unwrap().remove(name);
        self
    }

    pub(super) fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    async fn respond(self) -> Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = self.request.body(Full::new(self.body)).unwrap();
        timeout(TIMEOUT, sender.send_request(request)).await.expect("no answer").unwrap()
    }

    pub(super) async fn fetch(self) -> Answer {
        let (head, body) = self.respond().await.into_parts();
        let body = timeout(TIMEOUT, body.collect()).await.expect("no end").unwrap().to_bytes();
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// Opens a stream.
    pub(super) async fn open(self) -> Feed {
        let response = self.respond().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Feed {
            headers: response.headers().clone(),
            body: response.into_body(),
            decoder: Decoder::new(1 << 26),
            text: String::new(),
        }
    }
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn media_type(&self) -> &str {
        self.header("content-type")
    }

    /// The error of HTTP+JSON. The code of the error must equal the status of the response.
    pub(super) fn rest_error(&self) -> Value {
        assert_eq!(self.media_type(), "application/a2a+json");
        let mut document = self.json();
        assert_eq!(document["error"]["code"], self.status);
        assert!(document["error"]["message"].is_string(), "{document}");
        document["error"].take()
    }
}

/// The reason of an error, by its first detail.
pub(super) fn reason(error: &Value) -> &str {
    let details = error.get("data").or_else(|| error.get("details")).unwrap();
    assert_eq!(details[0]["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    assert_eq!(details[0]["domain"], "a2a-protocol.org");
    details[0]["reason"].as_str().unwrap()
}

/// A stream of events.
pub(super) struct Feed {
    pub(super) headers: HeaderMap,
    body: Incoming,
    decoder: Decoder,
    /// All received bytes.
    pub(super) text: String,
}

impl Feed {
    /// The next event; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.decoder.pop().unwrap() {
                return Some(event);
            }
            let frame = timeout(TIMEOUT, self.body.frame()).await.expect("silence")?.unwrap();
            let data = frame.into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&data).unwrap());
            self.decoder.push(&data);
        }
    }

    /// The `StreamResponse` of the next event, without its envelope.
    pub(super) async fn response(&mut self) -> Option<Value> {
        let event = self.next().await?;
        let mut document: Value = serde_json::from_str(&event.data).unwrap();
        Some(if document.get("jsonrpc").is_some() { document["result"].take() } else { document })
    }

    /// All remaining events.
    pub(super) async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// All remaining responses.
    pub(super) async fn responses(&mut self) -> Vec<Value> {
        let mut responses = Vec::new();
        while let Some(response) = self.response().await {
            responses.push(response);
        }
        responses
    }
}

/// A connection for single bytes.
pub(super) struct Raw(TcpStream);

impl Raw {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.unwrap())
    }

    pub(super) async fn write(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// The received bytes until the server closes.
    pub(super) async fn read_to_end(&mut self) -> String {
        let mut text = Vec::new();
        // A reset is an end, too.
        drop(timeout(TIMEOUT, self.0.read_to_end(&mut text)).await.expect("the connection stays open"));
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The received bytes up to `end`.
    pub(super) async fn read_until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains(end) {
            let mut buffer = [0; 4096];
            let read = timeout(TIMEOUT, self.0.read(&mut buffer)).await.expect("silence").unwrap();
            assert_ne!(read, 0, "closed after {}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&buffer[..read]);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Waits until the condition is true.
pub(super) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIMEOUT, wait).await.expect("it does not come to that");
}
