//! Calls as plain HTTP bytes, so that no code of Nuncio's client hides a fault of a server.

use std::{fmt, net::SocketAddr, time::Duration};

use anyhow::{Context as _, Result};
use nuncio_http::{ClientSettings, Roots};
use nuncio_wire::sse::Decoder;
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};
use serde_json::{Value, json};

/// The maximum time of an answer: longer than any fault with lease and restart.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(1);
/// The maximum silence of a stream: a node sends a keep-alive every second.
const SILENCE: Duration = Duration::from_secs(15);
/// The maximum size of an event.
const LARGEST: usize = 16 << 20;

/// The result of a call.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The answer of an operation.
    Ok(Value),
    /// An error of the protocol.
    Refused(Refusal),
    /// The connection ended without an answer; the effect is unknown.
    Cut,
    /// No answer within the maximum time.
    Hung,
}

/// An error from a node.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// Whether the error has a retry time.
    pub(crate) again: bool,
    body: Value,
}

impl Refusal {
    fn new(status: StatusCode, headers: &HeaderMap, bytes: &[u8]) -> Self {
        let again = headers.contains_key(RETRY_AFTER);
        Self { status, again, body: serde_json::from_slice(bytes).unwrap_or_default() }
    }

    /// The reason code of the protocol.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.detail()["reason"].as_str()
    }

    /// The reason why a cursor was refused.
    pub(crate) fn resume(&self) -> Option<&str> {
        self.detail()["metadata"]["resume"].as_str()
    }

    fn detail(&self) -> &Value {
        &self.body["error"]["details"][0]
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.body)
    }
}

/// A client of all nodes.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The client for answers, with a long timeout.
    calls: Client,
    /// The client for streams, with a short timeout of silence.
    streams: Client,
    nodes: Vec<SocketAddr>,
}

/// A message to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) message: String,
    pub(crate) task: Option<String>,
    pub(crate) text: String,
    /// The id and the URL of a webhook.
    pub(crate) hook: Option<(String, String)>,
    pub(crate) returns_at_once: bool,
}

impl Outgoing {
    fn body(&self) -> Value {
        let mut message = json!({"messageId": self.message, "role": "ROLE_USER", "parts": [{"text": self.text}]});
        if let Some(task) = &self.task {
            message["taskId"] = json!(task);
        }
        let mut body = json!({"message": message, "configuration": {"returnImmediately": self.returns_at_once}});
        if let Some((id, url)) = &self.hook {
            body["configuration"]["taskPushNotificationConfig"] = json!({"id": id, "url": url});
        }
        body
    }
}

impl Caller {
    pub(crate) fn new(nodes: Vec<SocketAddr>) -> Result<Self> {
        let mut settings = ClientSettings::default();
        settings.connect_timeout = Duration::from_secs(2);
        settings.uses_proxies = false;
        settings.roots = Roots::Omitted;
        let calls = settings.build()?;
        settings.read_timeout = Some(SILENCE);
        Ok(Self { calls, streams: settings.build()?, nodes })
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn request(&self, node: usize, method: Method, path: &str) -> RequestBuilder {
        self.of(&self.calls, node, method, path)
    }

    fn of(&self, client: &Client, node: usize, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.nodes[node % self.nodes.len()]);
        client.request(method, url).header("A2A-Version", "1.0")
    }

    pub(crate) async fn send(&self, node: usize, outgoing: &Outgoing) -> Answer {
        answer(self.request(node, Method::POST, "/message:send").json(&outgoing.body())).await
    }

    pub(crate) async fn get(&self, node: usize, task: &str) -> Answer {
        answer(self.request(node, Method::GET, &format!("/tasks/{task}"))).await
    }

    pub(crate) async fn cancel(&self, node: usize, task: &str) -> Answer {
        answer(self.request(node, Method::POST, &format!("/tasks/{task}:cancel"))).await
    }

    pub(crate) async fn hook(&self, node: usize, task: &str, (id, url): (&str, &str)) -> Answer {
        let path = format!("/tasks/{task}/pushNotificationConfigs");
        answer(self.request(node, Method::POST, &path).json(&json!({"id": id, "url": url}))).await
    }

    pub(crate) async fn hooks(&self, node: usize, task: &str) -> Answer {
        answer(self.request(node, Method::GET, &format!("/tasks/{task}/pushNotificationConfigs"))).await
    }

    /// A page in the list of all tasks.
    pub(crate) async fn list(&self, node: usize, token: &str) -> Answer {
        let path = format!("/tasks?pageSize=100&pageToken={token}");
        answer(self.request(node, Method::GET, &path)).await
    }

    pub(crate) async fn stream(&self, node: usize, outgoing: &Outgoing) -> Result<Opened> {
        open(self.of(&self.streams, node, Method::POST, "/message:stream").json(&outgoing.body())).await
    }

    pub(crate) async fn subscribe(&self, node: usize, task: &str, after: Option<u64>) -> Result<Opened> {
        let mut request = self.of(&self.streams, node, Method::POST, &format!("/tasks/{task}:subscribe"));
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after);
        }
        open(request).await
    }
}

async fn answer(request: RequestBuilder) -> Answer {
    let work = async {
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok::<_, reqwest::Error>((status, headers, response.bytes().await?))
    };
    match tokio::time::timeout(TIME_LIMIT, work).await {
        Err(_) => Answer::Hung,
        Ok(Err(_)) => Answer::Cut,
        Ok(Ok((status, _, body))) if status.is_success() => {
            Answer::Ok(serde_json::from_slice(&body).unwrap_or_default())
        }
        Ok(Ok((status, headers, body))) => Answer::Refused(Refusal::new(status, &headers, &body)),
    }
}

/// A stream, or a refusal.
#[derive(Debug)]
pub(crate) enum Opened {
    Stream(Box<Stream>),
    Refused(Refusal),
}

/// The events of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    response: Response,
    decoder: Decoder,
}

async fn open(request: RequestBuilder) -> Result<Opened> {
    let response = tokio::time::timeout(TIME_LIMIT, request.send()).await??;
    let (status, headers) = (response.status(), response.headers().clone());
    if status.is_success() {
        return Ok(Opened::Stream(Box::new(Stream { response, decoder: Decoder::new(LARGEST) })));
    }
    let body = response.bytes().await?;
    Ok(Opened::Refused(Refusal::new(status, &headers, &body)))
}

/// The next item of a stream.
#[derive(Debug)]
pub(crate) enum Next {
    /// An event, with its id.
    Event(u64, Value),
    /// A bare message, which has no id.
    Message,
    /// An error as the last item.
    Error(Value),
    /// The regular end of the stream.
    End,
}

impl Stream {
    /// The next item; an error means that the stream was interrupted.
    pub(crate) async fn next(&mut self) -> Result<Next> {
        loop {
            if let Some(event) = self.decoder.pop()? {
                let body: Value = serde_json::from_str(&event.data).context("an event that is not JSON")?;
                return Ok(match (event.event.as_deref(), event.sequence()) {
                    (Some("error"), _) => Next::Error(body),
                    (_, Some(id)) if body.get("message").is_none() => Next::Event(id, body),
                    _ => Next::Message,
                });
            }
            match self.response.chunk().await? {
                Some(bytes) => self.decoder.push(&bytes),
                None => return Ok(Next::End),
            }
        }
    }
}
