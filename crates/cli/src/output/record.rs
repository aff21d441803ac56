//! The records of a task's log: a line each.

use nuncio_model::{Message, PartRef, StreamEvent, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus};
use serde::Serialize;

use super::{Output, list};
use crate::error::CliError;

/// A record as JSON: the event of the stream, with its place in the log.
#[derive(Debug, Serialize)]
struct LogLine<'a> {
    sequence: Option<u64>,
    #[serde(flatten)]
    event: &'a StreamResponse,
}

impl Output {
    /// Writes a record on one line: its number, time, kind, and the first words of its content.
    pub(crate) fn record(mut self, event: &StreamEvent) -> Result<(), CliError> {
        self.is_lines = true;
        let record = LogLine { sequence: event.sequence, event: &event.response };
        self.document(&record, |to| to.field("Event", &line(event)))
    }
}

fn line(event: &StreamEvent) -> String {
    let sequence = event.sequence.map_or("-".to_owned(), |sequence| sequence.to_string());
    let (time, kind, words) = match &event.response {
        StreamResponse::Task(task) => (time(&task.status), "task", of_task(task)),
        StreamResponse::StatusUpdate(update) => (time(&update.status), "status", of_status(&update.status)),
        StreamResponse::ArtifactUpdate(update) => (None, "artifact", of_artifact(update)),
        StreamResponse::Message(message) => (None, "message", list::shortened(&message.text())),
    };
    // An artifact's event has no time in the protocol.
    let time = time.unwrap_or_else(|| "-".to_owned());
    format!("{sequence:>4}  {time:<24}  {kind:<8}  {words}").trim_end().to_owned()
}

fn time(status: &TaskStatus) -> Option<String> {
    status.timestamp.map(|time| time.to_string())
}

fn of_task(task: &Task) -> String {
    let first = task.history.first().map(Message::text).unwrap_or_default();
    format!("{}  {}", task.state().short(), list::shortened(&first))
}

fn of_status(status: &TaskStatus) -> String {
    let text = status.message.as_deref().map(Message::text).unwrap_or_default();
    format!("{}  {}", status.state.short(), list::shortened(&text))
}

fn of_artifact(update: &TaskArtifactUpdateEvent) -> String {
    let artifact = &update.artifact;
    let name = artifact.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(artifact.artifact_id.as_str());
    let text: String = artifact.parts.iter().filter_map(PartRef::as_text).collect();
    let mut words = vec![list::shortened(name)];
    words.extend(update.append.then(|| "(append)".to_owned()));
    words.extend(update.last_chunk.then(|| "(last)".to_owned()));
    let others = artifact.parts.iter().filter(|part| part.as_text().is_none()).count();
    words.extend((!text.is_empty()).then(|| list::shortened(&text)));
    words.extend(
        (others > 0).then(|| format!("({others} {} without text)", if others == 1 { "part" } else { "parts" })),
    );
    words.join(" ")
}
