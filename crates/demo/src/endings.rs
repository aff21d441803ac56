//! `fail`, `reject`, `raise`, `panic`: turns with a failure.

use nuncio_engine::{AgentError, Turn};

pub(crate) async fn fail(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.begin().await?;
    turn.fail("it broke").await
}

pub(crate) async fn reject(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.reject("the agent rejects this task").await
}

/// Returns an error: the message goes to the peer, the cause to the log.
pub(crate) async fn raise(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.begin().await?;
    Err(AgentError::new("the agent raised an error").with_source("a cause for the log only"))
}

/// Panics; the engine marks the task as failed and continues.
pub(crate) async fn panic(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.begin().await?;
    panic!("a panic for the log only")
}
