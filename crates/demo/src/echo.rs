//! `echo` and `message`: return the text.

use nuncio_engine::{AgentError, Turn};

/// Starts work, returns the text as an artifact, and completes the task.
pub(crate) async fn echo(turn: &Turn, text: &str) -> Result<(), AgentError> {
    turn.begin().await?;
    turn.artifact("echo-1").finish(text).await?;
    turn.complete(format!("echo: {text}")).await
}

/// Answers with a bare message. A task does not allow a bare message, so a task gets an echo.
pub(crate) async fn message(turn: &Turn, text: &str) -> Result<(), AgentError> {
    if turn.task().is_some() {
        return echo(turn, text).await;
    }
    turn.reply(format!("message: {text}")).await
}
