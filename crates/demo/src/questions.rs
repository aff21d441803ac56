//! `input`, `auth` and their like: the task waits, and the next message goes on with it.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::TaskState;

use crate::{
    choice::Choice,
    streams::{self, Plan},
    tck::Script,
    words::Word,
};

/// What a task asked, as its first message tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Any answer will do.
    Once,
    /// Asks again when the message asks for it again.
    Repeatable,
    /// Asks on and on until the answer is `done`.
    UntilDone,
    /// Any answer will do, and begins this stream.
    BeforeStream(Plan),
}

impl Question {
    /// What a message makes the task ask.
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

/// Asks for another message.
pub(crate) async fn input(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.ask("what else?").await
}

/// Asks for credentials.
pub(crate) async fn auth(turn: &Turn, _: &str) -> Result<(), AgentError> {
    turn.require_auth("credentials are needed to go on").await
}

/// Asks without a word.
pub(crate) async fn ask_silently(turn: &Turn) -> Result<(), AgentError> {
    turn.status(TaskState::InputRequired, None).await
}

/// The message after the question.
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
