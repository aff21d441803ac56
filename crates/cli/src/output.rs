//! Results on stdout, and nothing else there (cli specification, section 7).

mod card;
mod growing;
mod list;
mod ordered;
mod parts;
mod push;
mod record;
mod task;
mod text;

use std::io::{self, IsTerminal as _, Write};

use nuncio_model::{
    AgentCard, StreamResponse, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig, json, op::ListTasksResponse,
};
use serde::Serialize;

pub(crate) use ordered::Ordered;
pub(crate) use text::Text;

use crate::{args::Format, diag, error::CliError, escape, waiting};

/// Writes results in one format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
    is_lines: bool,
    is_verbose: bool,
    /// Whether nothing is printed but the text of the answer.
    is_answer: bool,
}

impl Output {
    pub(crate) fn new(format: Format, is_stream: bool, is_verbose: bool) -> Self {
        let is_lines = format == Format::Jsonl || (format == Format::Json && is_stream);
        Self { format, is_lines, is_verbose, is_answer: false }
    }

    /// The same, but printing the text of the answer alone.
    pub(crate) fn only_answer(self) -> Self {
        Self { is_answer: true, ..self }
    }

    /// Whether the text of the answer is all that is printed.
    pub(crate) fn is_answer(self) -> bool {
        self.is_answer
    }

    /// Whether the output is text for people.
    pub(crate) fn is_text(self) -> bool {
        self.format == Format::Text && !self.is_answer
    }

    /// Writes the text of an answer. On a terminal, which also shows warnings and hints, a line that looks like a
    /// line of this program is quoted.
    pub(crate) fn answer(text: &str) -> Result<(), CliError> {
        if text.is_empty() {
            diag::warn("the answer has no text");
            return Ok(());
        }
        let mut block = if io::stdout().is_terminal() { escape::Block::default() } else { escape::Block::exact() };
        let mut safe = String::with_capacity(text.len() + 1);
        block.push(text, &mut safe);
        block.end(&mut safe);
        if !safe.ends_with('\n') {
            safe.push('\n');
        }
        print(safe.as_bytes())
    }

    /// Whether each object has a line of its own.
    pub(crate) fn is_lines(self) -> bool {
        self.is_lines
    }

    /// Writes one JSON document or, for people, what `text` makes of it.
    pub(crate) fn document(self, value: &impl Serialize, text: impl FnOnce(&mut Text)) -> Result<(), CliError> {
        print(&self.made(value, text)?)
    }

    /// Writes the banner of a server. The server starts even if stdout is closed.
    pub(crate) fn banner(self, value: &impl Serialize, text: impl FnOnce(&mut Text)) -> Result<(), CliError> {
        let banner = self.made(value, text)?;
        if let Err(error) = write(&banner) {
            diag::warn(&format!("nobody reads where the agent is: {error}"));
        }
        Ok(())
    }

    fn made(self, value: &impl Serialize, text: impl FnOnce(&mut Text)) -> Result<Vec<u8>, CliError> {
        if self.is_text() {
            let mut to = Text::new(self.is_verbose);
            text(&mut to);
            return Ok(to.finish().into_bytes());
        }
        document(value, self.is_lines)
    }

    /// Writes one event of a stream.
    pub(crate) fn event(self, event: &StreamResponse) -> Result<(), CliError> {
        match event {
            StreamResponse::ArtifactUpdate(update) if self.is_text() && !self.is_verbose => self.piece(update),
            event => self.document(event, |to| to.event(event)),
        }
    }

    /// Writes a piece of an artifact: behind the piece before, where that was a text of the same artifact.
    fn piece(self, update: &TaskArtifactUpdateEvent) -> Result<(), CliError> {
        if let Some(more) = growing::more(update) {
            return go_on(more.as_bytes());
        }
        // The last chunk is often empty and only marks the end.
        if task::is_blank(&update.artifact) {
            return Ok(());
        }
        let mut text = Text::new(self.is_verbose);
        let is_open = text.growing_artifact(&update.artifact);
        if !is_open {
            return print(text.finish().as_bytes());
        }
        let ended = growing::end();
        let (text, block) = text.into_open();
        growing::begin(update, block);
        go_on((ended + &text).as_bytes())
    }

    pub(crate) fn task(self, task: &Task) -> Result<(), CliError> {
        self.document(task, |to| to.task(task))
    }

    /// A page of tasks, and the command for the next page.
    pub(crate) fn tasks(self, page: &ListTasksResponse, next: Option<&str>) -> Result<(), CliError> {
        if self.is_lines {
            page.tasks.iter().try_for_each(|task| self.task(task))?;
            // No line can contain the token.
            if let Some(next) = next {
                diag::warn("there are more tasks than these");
                diag::hint(&format!("the next page: {next}"));
            }
            return Ok(());
        }
        self.document(page, |to| to.tasks(page, next))
    }

    pub(crate) fn push_config(self, config: &TaskPushNotificationConfig) -> Result<(), CliError> {
        self.document(config, |to| to.push_config(config))
    }

    /// A card: the original document, or a summary as text.
    pub(crate) fn card(self, card: &AgentCard, document: &impl Serialize) -> Result<(), CliError> {
        self.document(document, |to| to.card(card))
    }

    /// Says how a command failed: JSON on stdout in the place of the result, words on stderr.
    pub(crate) fn error(self, error: &CliError) {
        if self.is_text() {
            diag::error(&error.message);
            if let Some(hint) = &error.hint {
                diag::hint(hint);
            }
            return;
        }
        // Always one line: readers parse the last line of the output.
        let envelope = document(&error.envelope(diag::redact), true);
        if let Err(failed) = envelope.and_then(|envelope| print(&envelope)) {
            diag::error(&failed.message);
        }
    }
}

/// A JSON document or a line of JSON, escaped for a terminal.
pub(crate) fn document(value: &impl Serialize, is_line: bool) -> Result<Vec<u8>, CliError> {
    let text = serde_json::to_string(value).map_err(CliError::internal)?;
    let mut text = escape::json(if is_line { text } else { json::pretty(&text) });
    text.push('\n');
    Ok(text.into_bytes())
}

/// Ends the open text on stdout, so that the next output to stdout or stderr begins on a new line.
pub(crate) fn end_text() {
    let ended = growing::end();
    if !ended.is_empty() {
        // A reader that has gone needs no end.
        let _ = write(ended.as_bytes());
    }
}

/// Whether a text on stdout may go on.
pub(crate) fn is_open() -> bool {
    growing::is_open()
}

fn print(bytes: &[u8]) -> Result<(), CliError> {
    let ended = growing::end();
    if ended.is_empty() { go_on(bytes) } else { go_on(&[ended.as_bytes(), bytes].concat()) }
}

/// Writes to stdout and flushes, so that a reader sees each event immediately. A closed pipe is not an error.
fn go_on(bytes: &[u8]) -> Result<(), CliError> {
    match write(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        outcome => Ok(outcome?),
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    waiting::clear();
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Writes plain text: a completion script, a banner.
pub(crate) fn plain(text: &str) -> Result<(), CliError> {
    print(text.as_bytes())
}
