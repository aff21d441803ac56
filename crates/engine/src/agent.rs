//! What a user writes: an agent, one method.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use crate::turn::Turn;

/// An agent: takes a turn, speaks through it, returns.
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
/// A turn that returns `Ok` without a closing word completes the task. `Err` and a panic fail it: the peer reads the
/// error's message, the log its cause. A turn that was canceled is canceled, whatever it returns. The future is dropped
/// when the task is canceled and the turn does not end within the grace period
/// ([`Limits::cancel_grace`](crate::Limits)), when it goes on for long after its last word, and when the engine stops,
/// so keep clean-up in `Drop`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an agent",
    note = "to make an agent of a closure or a function, wrap it: `agent_fn(|turn: Turn| async move {{ ... }})`",
    note = "an agent implements `async fn run(&self, turn: Turn) -> Result<(), AgentError>`"
)]
pub trait Agent: Send + Sync + 'static {
    /// Handles one message: a new interaction, or the next message of a task ([`Turn::task`]).
    fn run(&self, turn: Turn) -> impl Future<Output = Result<(), AgentError>> + Send;

    /// Whether a turn that a crash cut off may be run again from its message; [`Turn::resumed`] tells it what it had
    /// said. It is given the message as it was sent, with the request's configuration, metadata and extensions. By
    /// default it may not, and the task fails.
    fn resumes(&self) -> bool {
        false
    }
}

/// An agent that is a function of its turn.
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

/// The twin of [`Agent`] that can be a trait object.
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

/// Why a turn failed: a message for the peer, and a cause for the log that the peer does not see.
///
/// Any error becomes one with `?`; its text stays in the log, and the peer reads "the agent failed".
pub struct AgentError {
    message: Box<str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl AgentError {
    /// A failure that tells the peer this.
    pub fn new(message: impl Into<Box<str>>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Adds the cause, for the log.
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What the peer is told.
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
