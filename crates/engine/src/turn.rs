//! A turn: the message to answer, and the methods for the answer.

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

/// One message, and the methods to answer the message.
///
/// Each method emits an event of the task. The methods wait while the engine is behind (at most 256 events, or 256 KiB
/// of events, are queued). They fail when the turn is over: after the grace period of a cancel, or after the agent
/// violated the protocol. Return such an error with `?`. A method creates the event when it is called, and emits the
/// event when the future is awaited.
///
/// Dropping a turn emits nothing. The result of the agent's `run` ends the turn.
#[derive(Debug)]
pub struct Turn {
    /// In a box, because the future of an agent reserves space for its turn more than once.
    pub(crate) inner: Box<TurnInner>,
    pub(crate) events: Sender,
}

pub(crate) struct TurnInner {
    pub(crate) task_id: TaskId,
    pub(crate) context_id: ContextId,
    pub(crate) request: Arc<SendMessageRequest>,
    pub(crate) task: Option<Arc<Task>>,
    /// Whether a crash cut off an earlier run of this turn.
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
    /// The size of the content.
    pub(crate) bytes: usize,
    /// The source of the event, for the reason of a failure: for example a line of the output of a program.
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

    /// The media types that the client accepts, best first. Empty if the client accepts all types.
    pub fn accepted_output_modes(&self) -> &[String] {
        self.inner.request.configuration.as_ref().map_or(&[], |configuration| &configuration.accepted_output_modes)
    }

    /// The task before this turn, including the message of this turn. `None` in the first turn of a task.
    pub fn task(&self) -> Option<&Task> {
        self.inner.task.as_deref()
    }

    /// The task at the time of a crash, if the crash cut off this turn and the turn runs again ([`Agent::resumes`]).
    /// The task contains the events that the turn emitted before the crash. Use [`ArtifactWriter::appending`] to
    /// continue an artifact. `None` in all other turns.
    ///
    /// ```
    /// use nuncio_engine::{Agent, AgentError, Turn};
    ///
    /// struct Counts;
    ///
    /// impl Agent for Counts {
    ///     async fn run(&self, turn: Turn) -> Result<(), AgentError> {
    ///         // Each number before the crash is one part.
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

    /// The epoch of this turn. The epoch of a task never falls, and grows when a node takes the task over: another
    /// node, or this node after a restart.
    ///
    /// Two turns of one task can run at the same time if a node was cut off and does not know it yet. The turn with the
    /// higher epoch is then the valid one. Pass the epoch to external systems that the turn changes, so that they can
    /// refuse a lower epoch. A turn that runs again in the same process ([`Self::resumed`]) keeps its epoch, because
    /// its first run is over.
    pub fn epoch(&self) -> u64 {
        self.inner.epoch
    }

    /// The id of the task. In the first turn the task does not exist yet. The task is never created if the agent
    /// answers with [`Self::reply`].
    pub fn task_id(&self) -> &TaskId {
        &self.inner.task_id
    }

    /// The id of the context.
    pub fn context_id(&self) -> &ContextId {
        &self.inner.context_id
    }

    /// Earlier tasks of this context that the caller can read, newest first, at most 100, without this task.
    pub async fn context(&self) -> Result<Vec<Arc<Task>>, AgentError> {
        Ok(self.earlier(true).await?.collect())
    }

    /// The ids of the tasks of [`Self::context`], without reading the artifacts of these tasks.
    pub async fn context_ids(&self) -> Result<Vec<TaskId>, AgentError> {
        Ok(self.earlier(false).await?.map(|task| task.id.clone()).collect())
    }

    async fn earlier(&self, artifacts: bool) -> Result<impl Iterator<Item = Arc<Task>>, AgentError> {
        let context = Some(self.inner.context_id.clone());
        let query = ListQuery { context, page_size: 100, artifacts, ..ListQuery::default() };
        let page = self.inner.store.list(&self.inner.scope, &query).await?;
        Ok(page.tasks.into_iter().filter(|task| task.id != self.inner.task_id))
    }

    /// A task that the message references, if the task exists and the caller can read the task.
    pub async fn referenced(&self, id: &TaskId) -> Result<Option<Arc<Task>>, AgentError> {
        Ok(self.inner.store.load(&self.inner.scope, id).await?.map(|stored| stored.task))
    }

    /// The caller.
    pub fn principal(&self) -> &Principal {
        &self.inner.scope.principal
    }

    /// The tenant; empty if there is no tenant.
    pub fn tenant(&self) -> &Tenant {
        &self.inner.scope.tenant
    }

    /// The extensions that the client requested and the card declares.
    pub fn extensions(&self) -> &[Box<str>] {
        &self.inner.extensions
    }

    /// Whether an extension is active.
    pub fn has_extension(&self, uri: &str) -> bool {
        self.inner.extensions.iter().any(|active| &**active == uri)
    }

    /// Is cancelled when the client cancels the task. The agent then has the grace period to end the turn. If the turn
    /// returns without a final status, the task becomes canceled.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.inner.cancelled
    }

    /// Sets the status to working.
    pub fn begin(&self) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Working, None))
    }

    /// Sets the status to working, with a message about the progress.
    pub fn working(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Working, Some(message.into())))
    }

    /// Asks the client for another message. The task is interrupted until the message arrives. Return afterwards.
    pub fn ask(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::InputRequired, Some(message.into())))
    }

    /// Asks the client for credentials. The agent can return, or wait for the credentials on another channel.
    pub fn require_auth(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::AuthRequired, Some(message.into())))
    }

    /// Completes the task with a message about the result. The results belong in artifacts.
    pub fn complete(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Completed, Some(message.into())))
    }

    /// Fails the task with a reason for the client.
    pub fn fail(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Failed, Some(message.into())))
    }

    /// Rejects the task with a reason for the client.
    pub fn reject(&self, message: impl Into<Message>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::status(TaskState::Rejected, Some(message.into())))
    }

    /// Answers with a message instead of a task. The message must be the only event of a first turn.
    ///
    /// If the client did not wait, the task already exists. The message then completes the task.
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

    /// Adds a whole artifact, or replaces the artifact with the same id.
    pub fn add_artifact(&self, artifact: Artifact) -> impl Future<Output = Result<(), AgentError>> + Send {
        let update = TaskArtifactUpdateEvent { artifact, last_chunk: true, ..Default::default() };
        self.send(AgentEvent::new(StreamResponse::ArtifactUpdate(update)))
    }

    /// Writes an artifact in chunks. The name is also the id.
    pub fn artifact(&self, name: impl Into<Box<str>>) -> ArtifactWriter<'_> {
        ArtifactWriter::new(self, name.into())
    }

    /// Emits any event. The engine fills in missing ids of the task, context, messages and artifacts, and missing
    /// timestamps.
    pub fn emit(&self, response: StreamResponse) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.send(AgentEvent::new(response))
    }

    /// Emits an event with a named origin, for example a line of a program. If the event violates the protocol, the
    /// failure of the task names the origin.
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
