//! An engine and a client for it.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_engine::{AgentError, Engine, Limits, Turn, agent_fn, store::TaskStore};
use nuncio_model::{
    Call, Error, EventStream, Message, Reply, Request, Scope, StreamEvent, StreamResponse, Task, TaskId, TaskState,
    op::{
        CancelTaskRequest, GetTaskRequest, SendMessageConfiguration, SendMessageRequest, SendStreamingMessageRequest,
        SubscribeToTaskRequest,
    },
};
use tokio::time::timeout;

/// The deadline of each wait, so that a test fails instead of waiting for ever.
const LONG: Duration = Duration::from_mins(1);

/// Calls an engine.
#[derive(Clone)]
pub(super) struct Client(pub(super) Engine);

impl Client {
    /// Builds an engine with this function as its agent.
    pub(super) fn of<F, R>(store: impl TaskStore, limits: Limits, run: F) -> Self
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), AgentError>> + Send + 'static,
    {
        Self::over(Arc::new(store), limits, run)
    }

    /// Builds an engine over a shared store.
    pub(super) fn over<F, R>(store: Arc<dyn TaskStore>, limits: Limits, run: F) -> Self
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), AgentError>> + Send + 'static,
    {
        Self(Engine::builder(agent_fn(run)).store(store).limits(limits).build())
    }

    async fn call(&self, request: Request) -> Result<Reply, Error> {
        within(self.0.call(request)).await
    }

    async fn task(&self, call: impl Into<Call>) -> Result<Arc<Task>, Error> {
        match self.call(Request::new(Scope::open(), call)).await? {
            Reply::Task(task) => Ok(task),
            other => panic!("not a task: {other:?}"),
        }
    }

    async fn events(&self, request: Request) -> Result<EventStream, Error> {
        match self.call(request).await? {
            Reply::Events(events) => Ok(events),
            other => panic!("not a stream: {other:?}"),
        }
    }

    /// Starts a task, and does not wait for its end.
    pub(super) async fn begin(&self) -> Arc<Task> {
        let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
        let request = SendMessageRequest::new(Message::user("go")).with_configuration(configuration);
        self.task(request).await.unwrap()
    }

    pub(super) async fn stream(&self) -> EventStream {
        let call = SendStreamingMessageRequest(SendMessageRequest::new(Message::user("go")));
        self.events(Request::new(Scope::open(), call)).await.unwrap()
    }

    pub(super) async fn subscribe(&self, task: &TaskId, last_event: Option<u64>) -> Result<EventStream, Error> {
        let request = Request::new(Scope::open(), SubscribeToTaskRequest::new(task.clone()));
        self.events(Request { last_event, ..request }).await
    }

    pub(super) async fn get(&self, task: &TaskId) -> Arc<Task> {
        self.task(GetTaskRequest::new(task.clone())).await.unwrap()
    }

    pub(super) async fn cancel(&self, task: &TaskId) -> Result<Arc<Task>, Error> {
        self.task(CancelTaskRequest::new(task.clone())).await
    }

    /// Waits until no turn runs and no task is live.
    pub(super) async fn rest(&self) {
        within(async {
            while self.0.running() > 0 || self.0.live_tasks() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

pub(super) async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("it hangs")
}

pub(super) async fn next(events: &mut EventStream) -> Option<Result<Arc<StreamEvent>, Error>> {
    within(events.next()).await
}

/// All events of a stream. An error in the stream fails the test.
pub(super) async fn all(mut events: EventStream) -> Vec<Arc<StreamEvent>> {
    let mut seen = Vec::new();
    while let Some(event) = next(&mut events).await {
        seen.push(event.unwrap());
    }
    seen
}

/// The task state in an event.
pub(super) fn state(event: &StreamEvent) -> Option<TaskState> {
    match &event.response {
        StreamResponse::Task(task) => Some(task.state()),
        StreamResponse::StatusUpdate(update) => Some(update.status.state),
        StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => None,
    }
}

/// Asserts that the events are in order and that the last event is the only terminal event.
pub(super) fn assert_whole(events: &[Arc<StreamEvent>]) {
    assert!(events.windows(2).all(|pair| pair[0].sequence < pair[1].sequence), "{events:?}");
    let ends = events.iter().filter(|event| state(event).is_some_and(TaskState::is_terminal)).count();
    assert_eq!(ends, 1, "{events:?}");
    assert!(state(events.last().unwrap()).is_some_and(TaskState::is_terminal), "{events:?}");
}
