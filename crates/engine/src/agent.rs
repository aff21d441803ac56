//! The trait that a user implements: an agent with one method.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use crate::turn::Turn;

/// An agent: handles a turn and emits events.
///
/// ```
/// use nuncio_engine::{Agent, AgentError, Turn};
///
/// struct Shout;
///
/// impl Agent for Shout {
///     async fn run(&self, turn: Turn) -> Result<(), AgentError> {
///         let text = turn.message().text().to_uppercase();
///         turn.artifact("shout").finish(text).await?;
///         turn.complete("done").await
///     }
/// }
/// ```
///
/// A turn that returns `Ok` without a final status completes the task. `Err` and a panic fail the task: the client
/// reads the message of the error, and the log has the cause. If the client canceled the task, the result of the turn
/// is ignored, and the task is canceled.
///
/// The engine drops the future in three cases, so put clean-up into `Drop`:
/// - The task is canceled, and the turn does not end within the grace period ([`Limits::cancel_grace`](crate::Limits)).
/// - The turn goes on too long after its last event ([`Limits::linger`](crate::Limits)).
/// - The engine stops.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an agent",
    note = "to make an agent of a closure or a function, wrap it: `agent_fn(|turn: Turn| async move {{ ... }})`",
    note = "an agent implements `async fn run(&self, turn: Turn) -> Result<(), AgentError>`"
)]
pub trait Agent: Send + Sync + 'static {
    /// Handles one message: the first message of a new task, or the next message of a task ([`Turn::task`]).
    fn run(&self, turn: Turn) -> impl Future<Output = Result<(), AgentError>> + Send;

    /// Whether a turn that a crash cut off can run again from its message. [`Turn::resumed`] has the events before the
    /// crash. The turn gets the message as the client sent it, with the configuration, metadata and extensions of the
    /// request. The default is `false`: the task fails.
    fn resumes(&self) -> bool {
        false
    }
}

/// Makes an agent of a function of a turn.
///
/// ```
/// use nuncio_engine::{Engine, agent_fn};
///
/// let engine = Engine::builder(agent_fn(|turn| async move { turn.complete("hello").await })).build();
/// ```
pub fn agent_fn<F, R>(run: F) -> impl Agent
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), AgentError>> + Send,
{
    AgentFn(run)
}

struct AgentFn<F>(F);

impl<F, R> Agent for AgentFn<F>
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), AgentError>> + Send,
{
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        (self.0)(turn).await
    }
}

pub(crate) type AgentFuture = Pin<Box<dyn Future<Output = Result<(), AgentError>> + Send>>;

/// The object-safe counterpart of [`Agent`].
pub(crate) trait DynAgent: Send + Sync {
    fn run(self: Arc<Self>, turn: Turn) -> AgentFuture;
    fn resumes(&self) -> bool;
}

impl<A: Agent> DynAgent for A {
    fn run(self: Arc<Self>, turn: Turn) -> AgentFuture {
        Box::pin(async move { Agent::run(&*self, turn).await })
    }

    fn resumes(&self) -> bool {
        Agent::resumes(self)
    }
}

/// The reason of a failed turn: a message for the client, and a cause for the log. The client does not see the cause.
///
/// `?` converts any error. The text of the error is the cause, and the client reads "the agent failed".
pub struct AgentError {
    message: Box<str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl AgentError {
    /// A failure with this message for the client.
    pub fn new(message: impl Into<Box<str>>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Adds the cause, for the log.
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The message for the client.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The cause, for the log.
    pub fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync)> {
        self.source.as_deref()
    }

    pub(crate) fn turn_is_over() -> Self {
        Self::new("the turn is over")
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {}", nuncio_model::error::with_causes(&**source)),
            None => Ok(()),
        }
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for AgentError {
    fn from(source: E) -> Self {
        Self::new("the agent failed").with_source(source)
    }
}
