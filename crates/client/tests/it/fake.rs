//! An agent with the answers of a test. The agent records its requests.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// `POST /tasks`
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

type Answer = dyn Fn(&Seen, &Fake) -> Response + Send + Sync;

#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    answer: Arc<Answer>,
}

impl Fake {
    /// Listens on a free port until the test ends.
    pub(crate) async fn start(answer: impl Fn(&Seen, &Fake) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = Self { url, seen: Arc::default(), answer: Arc::new(answer) };
        let router = axum::Router::new().fallback(serve).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        fake
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The requests, without the requests for a card.
    pub(crate) fn calls(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| !seen.path.contains(".well-known")).collect()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Seen::line).collect()
    }

    /// A card with this agent as the only interface.
    pub(crate) fn card(&self, binding: &str) -> Value {
        card(&[(&self.url, binding)])
    }
}

async fn serve(State(fake): State<Fake>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let seen = Seen {
        method: head.method.to_string(),
        path: head.uri.path_and_query().unwrap().to_string(),
        headers: head.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let response = (fake.answer)(&seen, &fake);
    fake.seen.lock().unwrap().push(seen);
    response
}

pub(crate) fn card(interfaces: &[(&str, &str)]) -> Value {
    let interfaces: Vec<_> = interfaces
        .iter()
        .map(|(url, binding)| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}))
        .collect();
    json!({
        "name": "Fake", "description": "of a test", "version": "1", "supportedInterfaces": interfaces,
        "capabilities": {"streaming": true}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "skills": []
    })
}

pub(crate) fn ok(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

pub(crate) fn status(code: u16, body: impl Into<String>) -> Response {
    (StatusCode::from_u16(code).unwrap(), body.into()).into_response()
}

pub(crate) fn not_found() -> Response {
    status(404, "nothing here")
}

/// A stream of these events with their ids. The stream ends normally or is cut.
pub(crate) fn sse(events: &[(Option<u64>, Value)], is_whole: bool) -> Response {
    let mut body = String::new();
    for (id, event) in events {
        if let Some(id) = id {
            writeln!(body, "id: {id}").unwrap();
        }
        write!(body, "data: {event}\n\n").unwrap();
    }
    answer("text/event-stream", body, is_whole)
}

/// An answer that ends normally or is cut after `body`. The connection is closed only after the body was sent.
pub(crate) fn answer(media_type: &'static str, body: impl Into<Bytes>, is_whole: bool) -> Response {
    let sent = stream::iter([Ok(body.into())]);
    let cut = stream::iter((!is_whole).then_some(())).then(async |()| {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err(std::io::Error::other("cut off"))
    });
    ([(header::CONTENT_TYPE, media_type)], Body::from_stream(sent.chain(cut))).into_response()
}

pub(crate) fn task(state: &str) -> Value {
    json!({"id": "t1", "contextId": "c1", "status": {"state": state}})
}

pub(crate) fn task_event(state: &str) -> Value {
    json!({"task": task(state)})
}

pub(crate) fn status_event(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": state}}})
}

pub(crate) fn chunk_event(text: &str) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact, "append": true}})
}
