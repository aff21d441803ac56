//! The scripts of the protocol's conformance suite, selected by a prefix of the message's id or text.

use std::time::Duration;

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Artifact, Part};
use serde_json::json;

use crate::{questions, waits};

/// A table of scripts, in the order in which the prefixes are compared.
macro_rules! scripts {
    ($($name:ident $($prefix:literal)|*,)*) => {
        /// A script of the conformance suite.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Script {
            $($name,)*
        }

        const PREFIXES: &[(&str, Script)] = &[$($(($prefix, Script::$name),)*)*];
    };
}

scripts! {
    CompleteTask "tck-complete-task",
    MessageResponse "tck-message-response",
    ArtifactText "tck-artifact-text",
    ArtifactFileUrl "tck-artifact-file-url",
    ArtifactFile "tck-artifact-file",
    ArtifactData "tck-artifact-data",
    InputRequired "tck-input-required",
    MultiTurn "tck-multi-turn",
    AuthRequired "tck-auth-required",
    RejectTask "tck-reject-task",
    TaskFailure "tck-task-failure",
    Cancel "tck-cancel",
    LongRunning "tck-long-running",
    StreamText "tck-stream-basic" | "tck-stream-001" | "tck-stream-003" | "tck-stream-ordering-001"
        | "tck-stream-artifact-text",
    StreamCompleted "tck-stream-002",
    StreamFile "tck-stream-artifact-file",
    StreamChunked "tck-stream-chunked" | "tck-stream-artifact-chunked",
    Resubscribe "test-resubscribe-message-id",
}

impl Script {
    /// The script for a message id.
    pub(crate) fn of(id: &str) -> Option<Self> {
        PREFIXES.iter().find(|(prefix, _)| id.starts_with(prefix)).map(|(_, script)| *script)
    }

    /// The script for a text.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        Self::of(text).filter(|_| text.starts_with("tck-"))
    }
}

/// Runs a script.
pub(crate) async fn run(turn: &Turn, script: Script) -> Result<(), AgentError> {
    match script {
        Script::CompleteTask => turn.complete("Hello from TCK").await,
        Script::MessageResponse => message(turn, "Direct message response").await,
        Script::ArtifactText => artifact(turn, Part::text("Generated text content")).await,
        Script::ArtifactFileUrl => {
            let url = Part::url("https://example.com/output.txt");
            artifact(turn, url.with_filename("output.txt").with_media_type("text/plain")).await
        }
        Script::ArtifactFile => artifact(turn, file()).await,
        Script::ArtifactData => artifact(turn, Part::data(json!({"key": "value", "count": 42}))).await,
        Script::InputRequired => questions::input(turn, "").await,
        Script::MultiTurn => questions::ask_silently(turn).await,
        Script::AuthRequired => questions::auth(turn, "").await,
        Script::RejectTask => turn.reject("Task rejected by the agent").await,
        Script::TaskFailure => turn.fail("Task failed as asked").await,
        Script::Cancel => waits::until_canceled(turn).await,
        Script::LongRunning => long_running(turn).await,
        Script::StreamText => streamed(turn, Part::text("Streamed text content")).await,
        Script::StreamCompleted => turn.complete("Completed at once").await,
        Script::StreamFile => streamed(turn, file()).await,
        Script::StreamChunked => chunked(turn).await,
        Script::Resubscribe => {
            turn.begin().await?;
            waits::work(turn, Duration::from_secs(5)).await
        }
    }
}

fn file() -> Part {
    Part::raw(*b"Generated file content").with_filename("output.txt").with_media_type("text/plain")
}

/// A bare message. A task does not allow a bare message, so a task gets the text as its final status message.
async fn message(turn: &Turn, text: &str) -> Result<(), AgentError> {
    if turn.task().is_some() { turn.complete(text).await } else { turn.reply(text).await }
}

async fn artifact(turn: &Turn, part: Part) -> Result<(), AgentError> {
    turn.add_artifact(Artifact::new("tck-artifact-1", vec![part])).await
}

async fn streamed(turn: &Turn, part: Part) -> Result<(), AgentError> {
    turn.begin().await?;
    artifact(turn, part).await
}

async fn chunked(turn: &Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    let mut artifact = turn.artifact("tck-artifact-1");
    artifact.chunk("chunk-1 ").await?;
    artifact.finish("chunk-2").await
}

async fn long_running(turn: &Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    waits::work(turn, Duration::from_secs(3)).await?;
    if turn.cancelled().is_cancelled() {
        return Ok(());
    }
    artifact(turn, Part::text("Generated after a while")).await
}
