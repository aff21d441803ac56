//! `echo` and `message`: the text comes back.

use nuncio_engine::{AgentError, Turn};

/// Works, gives the text back as an artifact, completes.
pub(crate) async fn echo(turn: &Turn, text: &str) -> Result<(), AgentError> {
    turn.begin().await?;
    turn.artifact("echo-1").finish(text).await?;
    turn.complete(format!("echo: {text}")).await
}

/// Answers with a bare message. On a task there is none any more, so there it echoes.
pub(crate) async fn message(turn: &Turn, text: &str) -> Result<(), AgentError> {
    if turn.task().is_some() {
        return echo(turn, text).await;
    }
    turn.reply(format!("message: {text}")).await
}
