//! JSON-RPC and HTTP+JSON over HTTP/2, which a client begins with when it knows.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{Running, agent::message};

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
            .uri(format!("http://agent.test{path}"))
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
    assert_eq!(card["supportedInterfaces"][2]["url"], "agent.test:80");
    for path in ["/.well-known/agent-card.json", "/tasks", "/healthz"] {
        let response = client.send("HEAD", path, &Value::Null).await;
        assert_eq!(response.status(), 200);
        assert!(whole(response).await.is_empty());
    }
    assert_eq!(client.send("GET", "/nowhere", &Value::Null).await.status(), 404);
}
