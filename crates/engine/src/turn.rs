//! A turn: all that an agent needs to handle one message.

mod artifact;
mod data;
mod schema;

use std::{fmt::Display, future::Future, sync::Arc};

pub use artifact::ArtifactWriter;
use nuncio_model::{
    Artifact, ContextId, Message, Principal, Scope, StreamEvent, StreamResponse, Struct, Task, TaskArtifactUpdateEvent,
    TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent, Tenant, op::SendMessageRequest, weight,
};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::AgentError,
    channel::Sender,
    store::{ListQuery, TaskStore},
};

/// One message, and the means to answer it.
///
/// Every word of the agent is an event of the task. Methods that speak wait while the engine is behind (at most 256
/// events, or 256 KiB of them, are under way) and fail once the turn is over: after a cancel's grace period, or when
/// the agent broke the protocol. Pass such an error on with `?`. A word is made when the method is called and said once
/// the future is awaited.
///
/// Dropping a turn says nothing; what the agent's `run` returns does.
#[derive(Debug)]
pub struct Turn {
    /// In a box, because an agent's future has room for its turn more than once.
    pub(crate) inner: Box<TurnInner>,
    pub(crate) events: Sender,
}

pub(crate) struct TurnInner {
    pub(crate) task_id: TaskId,
    pub(crate) context_id: ContextId,
    pub(crate) request: Arc<SendMessageRequest>,
    pub(crate) task: Option<Arc<Task>>,
    /// Whether a crash cut it off before.
    pub(crate) resumed: bool,
    pub(crate) epoch: u64,
    pub(crate) scope: Scope,
    pub(crate) extensions: Arc<[Box<str>]>,
    pub(crate) cancelled: CancellationToken,
    pub(crate) store: Arc<dyn TaskStore>,
}

impl std::fmt::Debug for TurnInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnInner").field("task_id", &self.task_id).finish_non_exhaustive()
    }
}

/// An event of an agent, on the way to the runner.
#[derive(Debug)]
pub(crate) struct AgentEvent {
    pub(crate) event: Arc<StreamEvent>,
    /// What it carries.
    pub(crate) bytes: usize,
    /// Where it came from, for the reason of a failure: a line of a program's output, for example.
    pub(crate) origin: Option<Box<str>>,
}

impl AgentEvent {
    pub(crate) fn new(response: StreamResponse) -> Self {
        let bytes = weight::of_event(&response);
        Self { event: Arc::new(StreamEvent::new(None, response)), bytes, origin: None }
    }

    pub(crate) fn status(state: TaskState, message: Option<Message>) -> Self {
        let status = TaskStatus { message: message.map(Box::new), ..TaskStatus::new(state) };
        Self::new(StreamResponse::StatusUpdate(TaskStatusUpdateEvent { status, ..Default::default() }))
    }
}

impl Turn {
    /// The message to answer. Its `task_id` and `context_id` are set.
    pub fn message(&self) -> &Message {
        &self.inner.request.message
    }

    /// The whole request: the message, its configuration and its metadata.
    pub fn request(&self) -> &SendMessageRequest {
        &self.inner.request
    }

    /// The metadata of the request.
    pub fn metadata(&self) -> Option<&Struct> {
        self.inner.request.metadata.as_deref()
    }

    /// The media types that the client takes, best first; empty for any.
    pub fn accepted_output_modes(&self) -> &[String] {
        self.inner.request.configuration.as_ref().map_or(&[], |configuration| &configuration.accepted_output_modes)
    }

    /// The task so far, when this is not its first turn. It includes the message of this turn.
    pub fn task(&self) -> Option<&Task> {
        self.inner.task.as_deref()
    }

    /// The task as a crash left it, when this turn was cut off by one and is run again ([`Agent::resumes`]): with what
    /// the turn had said before. An artifact goes on by [`ArtifactWriter::appending`]. `None` in any other turn.
    ///
    /// ```
    /// use nuncio_engine::{Agent, AgentError, Turn};
    ///
    /// struct Counts;
    ///
    /// impl Agent for Counts {
    ///     async fn run(&self, turn: Turn) -> Result<(), AgentError> {
    ///         // One part for each number that was written before the crash.
    ///         let done = turn.resumed().and_then(|task| task.artifacts.first()).map_or(0, |it| it.parts.len());
    ///         let mut numbers = turn.artifact("numbers").appending();
    ///         for number in done..1_000 {
    ///             numbers.chunk(format!("{number}\n")).await?;
    ///         }
    ///         turn.complete("counted").await
    ///     }
    ///
    ///     fn resumes(&self) -> bool {
    ///         true
    ///     }
    /// }
    /// ```
    ///
    /// [`Agent::resumes`]: crate::Agent::resumes
    pub fn resumed(&self) -> Option<&Task> {
        self.task().filter(|_| self.inner.resumed)
    }

    /// The epoch under which this turn runs: a number that never falls within a task, and that has grown where another
    /// node, or this one after a restart, took the task over. So of two turns of one task that were at work at the same
    /// time, as can be where a node was cut off and did not know it yet, the one of the higher epoch counts: hand the
    /// number on to whatever the turn changes in the world, and have that refuse a lower one. A turn that is run again
    /// by the process that had it before ([`Self::resumed`]) has the same epoch; the first is over by then.
    pub fn epoch(&self) -> u64 {
        self.inner.epoch
    }

    /// The task's id. On a first turn there is no task yet, and none will be if the agent answers with [`Self::reply`].
    pub fn task_id(&self) -> &TaskId {
        &self.inner.task_id
    }

    /// The context's id.
    pub fn context_id(&self) -> &ContextId {
        &self.inner.context_id
    }

    /// Earlier tasks of this context that the caller may see, newest first, at most 100, without this one.
    pub async fn context(&self) -> Result<Vec<Arc<Task>>, AgentError> {
        Ok(self.earlier(true).await?.collect())
    }

    /// The ids of the tasks that [`Self::context`] gives, without reading their artifacts.
    pub async fn context_ids(&self) -> Result<Vec<TaskId>, AgentError> {
        Ok(self.earlier(false).await?.map(|task| task.id.clone()).collect())
    }

    async fn earlier(&self, artifacts: bool) -> Result<impl Iterator<Item = Arc<Task>>, AgentError> {
        let context = Some(self.inner.context_id.clone());
        let query = ListQuery { context, page_size: 100, artifacts, ..ListQuery::default() };
        let page = self.inner.store.list(&self.inner.scope, &query).await?;
        Ok(page.tasks.into_iter().filter(|task| task.id != self.inner.task_id))
    }

    /// A task that the message refers to, where it exists and the caller may see it.
    pub async fn referenced(&self, id: &TaskId) -> Result<Option<Arc<Task>>, AgentError> {
        Ok(self.inner.store.load(&self.inner.scope, id).await?.map(|stored| stored.task))
    }

    /// The caller.
    pub fn principal(&self) -> &Principal {
        &self.inner.scope.principal
    }

    /// The tenant; empty where there is none.
    pub fn tenant(&self) -> &Tenant {
        &self.inner.scope.tenant
    }

    /// The extensions that the client asked for and the card declares.
    pub fn extensions(&self) -> &[Box<str>] {
        &self.inner.extensions
    }

    /// Whether an extension is active.
    pub fn has_extension(&self, uri: &str) -> bool {
        self.inner.extensions.iter().any(|active| &**active == uri)
    }

    /// Is cancelled when the client cancels the task. The agent then has the grace period to end its turn; a turn that
    /// returns without a closing word leaves the task canceled.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.inner.cancelled
    }

    /// Says that the agent is at work.
    pub fn begin(&self) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Working, None))
    }

    /// Says that the agent is at work, with a word on its progress.
    pub fn working(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Working, Some(message.into())))
    }

    /// Asks the client for another message, and parks the task until it comes. Return after it.
    pub fn ask(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::InputRequired, Some(message.into())))
    }

    /// Says that credentials are needed. The agent may go on when they have come by another way, or return.
    pub fn require_auth(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::AuthRequired, Some(message.into())))
    }

    /// Completes the task with a word about it. Results belong in artifacts.
    pub fn complete(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Completed, Some(message.into())))
    }

    /// Fails the task with a reason for the peer.
    pub fn fail(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Failed, Some(message.into())))
    }

    /// Declines the task with a reason for the peer.
    pub fn reject(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Rejected, Some(message.into())))
    }

    /// Answers with a bare message; no task comes of it. It must be the only word of a first turn.
    ///
    /// Where the client was given a task meanwhile (it did not want to wait), the task completes with the message.
    pub fn reply(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::new(StreamResponse::Message(message.into())))
    }

    /// Sets the status.
    pub fn status(
        &self,
        state: TaskState,
        message: impl Into<Option<Message>>,
    ) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(state, message.into()))
    }

    /// Adds a whole artifact, or replaces the one of the same id.
    pub fn add_artifact(&self, artifact: Artifact) -> impl Future<Output = Result<(), AgentError>> + Send {
        let update = TaskArtifactUpdateEvent { artifact, last_chunk: true, ..Default::default() };
        self.send(AgentEvent::new(StreamResponse::ArtifactUpdate(update)))
    }

    /// Writes an artifact piece by piece. The name is its id too.
    pub fn artifact(&self, name: impl Into<Box<str>>) -> ArtifactWriter<'_> {
        ArtifactWriter::new(self, name.into())
    }

    /// Says any event. Ids of the task and the context, times, and the ids of messages and artifacts may be left out.
    pub fn emit(&self, response: StreamResponse) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::new(response))
    }

    /// Says an event on behalf of something that can be named, a line of a program for example: when the event breaks
    /// the protocol, the task's failure names it.
    pub fn emit_from(
        &self,
        origin: impl Display,
        response: StreamResponse,
    ) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent { origin: Some(origin.to_string().into()), ..AgentEvent::new(response) })
    }

    async fn send(&self, event: AgentEvent) -> Result<(), AgentError> {
        if self.events.send(event).await { Ok(()) } else { Err(AgentError::turn_is_over()) }
    }
}
