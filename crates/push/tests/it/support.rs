//! An agent with a store, and a webhook that records its requests.

use std::{collections::VecDeque, convert::Infallible, future::Future, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use nuncio_engine::{Agent, AgentError, Engine, MemoryStore, TaskStore, Turn};
use nuncio_model::{
    AgentCard, Message, Reply, Request as Call, Scope, TaskId, TaskPushNotificationConfig, TaskState, Value,
    op::{SendMessageConfiguration, SendMessageRequest},
};
use nuncio_push::{Dispatcher, DispatcherBuilder, Guard, Retry};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Sends as many chunks as the message says, and completes. For the message `ask` the agent asks for input; for the message
/// `hang` the agent sends one chunk and stops there.
pub(crate) struct Counter;

impl Agent for Counter {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        let text = turn.message().text();
        if text == "ask" {
            return turn.ask("more").await;
        }
        let mut artifact = turn.artifact("count");
        if text == "hang" {
            artifact.chunk("hanging").await?;
            std::future::pending::<()>().await;
        }
        for number in 1..=text.parse::<u32>().unwrap_or(1) {
            artifact.chunk(format!("{number}")).await?;
        }
        turn.complete("done").await
    }
}

pub(crate) fn engine(store: Arc<dyn TaskStore>, guard: &Guard) -> Engine {
    let mut card = AgentCard::new("counter", "Counts.");
    card.capabilities.push_notifications = Some(true);
    Engine::builder(Counter).store(store).card(card).push_guard(Arc::new(guard.clone())).build()
}

pub(crate) fn memory() -> Arc<dyn TaskStore> {
    Arc::new(MemoryStore::default())
}

/// A guard that allows loopback addresses.
pub(crate) fn lenient() -> Guard {
    Guard::new().allow_private(true)
}

/// Delays of a few milliseconds.
pub(crate) fn quick(attempts: u32) -> Retry {
    let mut retry = Retry::default();
    retry.first = Duration::from_millis(5);
    retry.longest = Duration::from_millis(20);
    retry.attempts = attempts;
    retry
}

/// A running dispatcher, until stopped or dropped.
pub(crate) struct AtWork {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl AtWork {
    pub(crate) fn start(builder: DispatcherBuilder) -> Self {
        let (dispatcher, stop): (Dispatcher, _) = (builder.build().unwrap(), CancellationToken::new());
        let stopped = stop.clone();
        Self { stop, task: tokio::spawn(async move { dispatcher.run(stopped.cancelled_owned()).await }) }
    }

    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        within(&mut self.task).await.unwrap();
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn config(url: impl Into<String>) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig { url: url.into(), ..Default::default() }
}

/// Sends a message with a webhook, and returns the task.
pub(crate) async fn send(engine: &Engine, text: &str, config: TaskPushNotificationConfig) -> TaskId {
    send_in(None, engine, text, config).await
}

/// The same, with a webhook that is registered in a version.
pub(crate) async fn send_in(
    push_format: Option<&'static str>,
    engine: &Engine,
    text: &str,
    config: TaskPushNotificationConfig,
) -> TaskId {
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(config),
        return_immediately: text == "hang",
        ..Default::default()
    };
    let request = SendMessageRequest::new(Message::user(text)).with_configuration(configuration);
    match engine.call(Call { push_format, ..Call::new(Scope::open(), request) }).await.unwrap() {
        Reply::Task(task) => task.id.clone(),
        reply => panic!("{reply:?}"),
    }
}

pub(crate) async fn create(engine: &Engine, task: &TaskId, config: TaskPushNotificationConfig) {
    create_in(None, engine, task, config).await;
}

/// The same in a version.
pub(crate) async fn create_in(
    push_format: Option<&'static str>,
    engine: &Engine,
    task: &TaskId,
    mut config: TaskPushNotificationConfig,
) {
    config.task_id = Some(task.clone());
    engine.call(Call { push_format, ..Call::new(Scope::open(), config) }).await.unwrap();
}

pub(crate) async fn follow_up(engine: &Engine, task: &TaskId, text: &str) {
    let request = SendMessageRequest::new(Message::user(text).with_task_id(task.clone()));
    engine.call(Call::new(Scope::open(), request)).await.unwrap();
}

/// Waits until no push is pending.
pub(crate) async fn until_settled(store: &Arc<dyn TaskStore>) {
    within(async {
        while store.next_push().await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it takes too long")
}

/// A request to a webhook.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Received {
    /// `task`, `statusUpdate` or `artifactUpdate`, and the state or the text.
    pub(crate) fn summary(&self) -> String {
        let (member, value) = self.body.as_object().unwrap().iter().next().unwrap();
        assert_eq!(self.body.as_object().unwrap().len(), 1, "{}", self.body);
        let text = value.pointer("/artifact/parts/0/text").or_else(|| value.pointer("/status/state"));
        format!("{member} {}", text.and_then(Value::as_str).unwrap())
    }

    pub(crate) fn is_end(&self) -> bool {
        self.body.pointer("/statusUpdate/status/state").is_some_and(|it| it == TaskState::Completed.as_str())
    }
}

/// The answer of a webhook.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Status(u16),
    With(u16, &'static str, String),
    Body(Vec<u8>),
    /// 200 with an endless body.
    Endless,
    Never,
}

/// A webhook with prepared answers, and 200 after the last of them.
pub(crate) struct Webhook {
    pub(crate) address: SocketAddr,
    received: watch::Receiver<Vec<Received>>,
    answers: Arc<std::sync::Mutex<VecDeque<Answer>>>,
    server: JoinHandle<()>,
}

impl Webhook {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = Arc::new(std::sync::Mutex::new(answers.into_iter().collect::<VecDeque<_>>()));
        let (log, received) = watch::channel(Vec::new());
        let server = tokio::spawn(serve(listener, log, Arc::clone(&answers)));
        Self { address, received, answers, server }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn now(&self) -> Vec<Received> {
        self.received.borrow().clone()
    }

    pub(crate) fn summaries(&self) -> Vec<String> {
        self.now().iter().map(Received::summary).collect()
    }

    pub(crate) fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        *self.answers.lock().unwrap() = answers.into_iter().collect();
    }

    /// Waits until the received requests satisfy the predicate.
    pub(crate) async fn until(&self, enough: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        let mut received = self.received.clone();
        let waited = within(received.wait_for(|received| enough(received))).await;
        waited.unwrap().clone()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(
    listener: TcpListener,
    log: watch::Sender<Vec<Received>>,
    answers: Arc<std::sync::Mutex<VecDeque<Answer>>>,
) {
    let log = Arc::new(log);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (log, answers) = (Arc::clone(&log), Arc::clone(&answers));
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let (log, answers) = (Arc::clone(&log), Arc::clone(&answers));
                async move {
                    assert_eq!(request.method(), http::Method::POST);
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let body = serde_json::from_slice(&body).unwrap();
                    let path = head.uri.path().to_owned();
                    log.send_modify(|log| log.push(Received { path, headers: head.headers, body }));
                    let answer = answers.lock().unwrap().pop_front();
                    Ok::<_, Infallible>(respond(answer).await)
                }
            });
            // A sender that goes away in the middle is part of some tests.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

type Body = Either<Full<Bytes>, StreamBody<stream::Pending<Result<Frame<Bytes>, Infallible>>>>;

async fn respond(answer: Option<Answer>) -> Response<Body> {
    let builder = Response::builder();
    let body = match answer.unwrap_or(Answer::Status(200)) {
        Answer::Status(status) => return builder.status(status).body(Either::Left(Full::default())).unwrap(),
        Answer::With(status, name, value) => {
            return builder.status(status).header(name, value).body(Either::Left(Full::default())).unwrap();
        }
        Answer::Body(body) => Either::Left(Full::new(body.into())),
        Answer::Endless => Either::Right(StreamBody::new(stream::pending())),
        Answer::Never => std::future::pending().await,
    };
    builder.body(body).unwrap()
}
