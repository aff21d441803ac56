//! `two-messages`, `after-end`: violations of the protocol, to demonstrate that the engine refuses them.

use nuncio_engine::{AgentError, Turn};

pub(crate) async fn two_messages(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.reply("the first message").await?;
    turn.reply("the second message").await
}

pub(crate) async fn after_end(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.complete("that was the end").await?;
    turn.artifact("after-end-1").finish("and something after it").await
}
