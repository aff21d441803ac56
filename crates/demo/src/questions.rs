//! `input`, `auth` and similar words: the task waits, and the next message continues the task.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::TaskState;

use crate::{
    choice::Choice,
    streams::{self, Plan},
    tck::Script,
    words::Word,
};

/// The question of a task, determined by the task's first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Any answer is accepted.
    Once,
    /// Asks again if the answer is the same request.
    Repeatable,
    /// Asks again until the answer is `done`.
    UntilDone,
    /// Any answer is accepted and starts this stream.
    BeforeStream(Plan),
}

impl Question {
    /// The question that a message causes.
    pub(crate) fn of(choice: Choice<'_>) -> Option<Self> {
        match choice {
            Choice::Word(Word::Stream, arguments) => streams::asking(arguments).map(Self::BeforeStream),
            Choice::Word(Word::Input | Word::Auth, _) | Choice::Tck(Script::AuthRequired) => Some(Self::Once),
            Choice::Tck(Script::InputRequired) => Some(Self::Repeatable),
            Choice::Tck(Script::MultiTurn) => Some(Self::UntilDone),
            _ => None,
        }
    }
}

/// Requests another message.
pub(crate) async fn input(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.ask("what else?").await
}

/// Requests credentials.
pub(crate) async fn auth(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.require_auth("credentials are needed to continue").await
}

/// Requests input without a message.
pub(crate) async fn ask_silently(turn: &Turn) -> Result<(), AgentError> {
    turn.status(TaskState::InputRequired, None).await
}

/// Handles the message after the question.
pub(crate) async fn answered(turn: &Turn, question: Question) -> Result<(), AgentError> {
    let text = turn.message().text();
    let repeats = || Script::of(turn.message().message_id.as_str()).or_else(|| Script::of_text(&text));
    match question {
        Question::UntilDone if text.trim() != "done" => ask_silently(turn).await,
        Question::Repeatable if repeats() == Some(Script::InputRequired) => input(turn, "").await,
        Question::BeforeStream(plan) => streams::write(turn, plan).await,
        Question::Once | Question::Repeatable | Question::UntilDone => turn.complete(format!("got: {text}")).await,
    }
}
