//! Results on stdout, and nothing else there (cli specification, section 7).

mod card;
mod list;
mod ordered;
mod parts;
mod push;
mod task;
mod text;

use std::io::{self, Write};

use nuncio_model::{AgentCard, StreamResponse, Task, TaskPushNotificationConfig, op::ListTasksResponse};
use serde::Serialize;

pub(crate) use ordered::Ordered;
pub(crate) use text::Text;

use crate::{args::Format, diag, error::CliError};

/// Writes results in one format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
    is_lines: bool,
    is_verbose: bool,
}

impl Output {
    pub(crate) fn new(format: Format, is_stream: bool, is_verbose: bool) -> Self {
        let is_lines = format == Format::Jsonl || (format == Format::Json && is_stream);
        Self { format, is_lines, is_verbose }
    }

    /// Whether people read it.
    pub(crate) fn is_text(self) -> bool {
        self.format == Format::Text
    }

    /// Whether each object has a line of its own.
    pub(crate) fn is_lines(self) -> bool {
        self.is_lines
    }

    /// Writes one JSON document or, for people, what `text` makes of it.
    pub(crate) fn document(self, value: &impl Serialize, text: impl FnOnce(&mut Text)) -> Result<(), CliError> {
        if self.is_text() {
            let mut to = Text::new(self.is_verbose);
            text(&mut to);
            return print(to.finish().as_bytes());
        }
        let document = if self.is_lines { serde_json::to_vec(value) } else { serde_json::to_vec_pretty(value) };
        print_line(document.map_err(CliError::internal)?)
    }

    /// Writes one event of a stream.
    pub(crate) fn event(self, event: &StreamResponse) -> Result<(), CliError> {
        self.document(event, |to| to.event(event))
    }

    pub(crate) fn task(self, task: &Task) -> Result<(), CliError> {
        self.document(task, |to| to.task(task))
    }

    pub(crate) fn tasks(self, page: &ListTasksResponse) -> Result<(), CliError> {
        if self.is_lines {
            return page.tasks.iter().try_for_each(|task| self.task(task));
        }
        self.document(page, |to| to.tasks(page))
    }

    pub(crate) fn push_config(self, config: &TaskPushNotificationConfig) -> Result<(), CliError> {
        self.document(config, |to| to.push_config(config))
    }

    /// A card: the document as it was served, or what people want to know of it.
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
        // One line, whatever came before it: readers look at the last.
        let envelope = serde_json::to_vec(&error.envelope(diag::redact)).map_err(CliError::internal);
        if let Err(failed) = envelope.and_then(print_line) {
            diag::error(&failed.message);
        }
    }
}

fn print_line(mut line: Vec<u8>) -> Result<(), CliError> {
    line.push(b'\n');
    print(&line)
}

/// Writes to stdout at once, so that a reader sees each event when it happens. A reader that has gone is no error.
fn print(bytes: &[u8]) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        outcome => Ok(outcome?),
    }
}

/// Writes plain text: a completion script, a banner.
pub(crate) fn plain(text: &str) -> Result<(), CliError> {
    print(text.as_bytes())
}
