//! Tasks and their events for people.

use nuncio_model::{Artifact, ContextId, Message, Part, Role, StreamResponse, Task, TaskId, TaskState, TaskStatus};

use super::{Text, growing::is_bare};

impl Text {
    /// What every task command says: task, context, state.
    pub(crate) fn head(&mut self, task: &TaskId, context: Option<&ContextId>) {
        self.field("Task", task.as_str());
        self.field_if("Context", context.map(ContextId::as_str));
    }

    pub(crate) fn task(&mut self, task: &Task) {
        self.head(&task.id, task.context_id.as_ref());
        self.outcome(task);
    }

    /// A task without its ids, which were printed before.
    pub(crate) fn outcome(&mut self, task: &Task) {
        self.status(&task.status);
        for artifact in &task.artifacts {
            self.artifact(artifact);
        }
        if self.is_verbose {
            for message in &task.history {
                self.field("History", message.role.short());
                self.parts(&message.parts);
            }
        } else if let Some(message) = answer_in_history(task) {
            self.field("History", message.role.short());
            self.parts(&message.parts);
        }
        self.metadata(task.metadata.as_deref());
    }

    fn status(&mut self, status: &TaskStatus) {
        self.field("State", status.state.short());
        if self.is_verbose {
            self.field_if("Updated", status.timestamp.map(|time| time.to_string()).as_deref());
        }
        if let Some(message) = &status.message {
            self.field("Status-Message", message.role.short());
            self.parts(&message.parts);
        }
    }

    /// An artifact that may get more pieces: its last text is left open. Returns whether there is such a text.
    pub(super) fn growing_artifact(&mut self, artifact: &Artifact) -> bool {
        let parts = joined(artifact);
        let Some((last, before)) = parts.split_last().filter(|(last, _)| is_bare((*last).into())) else {
            self.artifact(artifact);
            return false;
        };
        self.artifact_head(artifact);
        self.parts(before);
        self.open_block("Text", last.as_text().unwrap_or_default());
        true
    }

    fn artifact_head(&mut self, artifact: &Artifact) {
        self.field("Artifact", artifact.artifact_id.as_str());
        self.field_if("Name", artifact.name.as_deref().filter(|name| artifact.artifact_id != **name));
        self.field_if("Description", artifact.description.as_deref().filter(|_| self.is_verbose));
    }

    pub(super) fn artifact(&mut self, artifact: &Artifact) {
        self.artifact_head(artifact);
        self.parts(&joined(artifact));
        self.metadata(artifact.metadata.as_deref());
    }

    /// An event of a stream. The last event repeats the ids of the task and the context.
    pub(crate) fn event(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => self.task(task),
            StreamResponse::Message(message) => self.message(message),
            StreamResponse::StatusUpdate(update) => {
                let state = update.status.state;
                if self.is_verbose || state.is_terminal() || state.is_interrupted() {
                    self.head(&update.task_id, Some(&update.context_id));
                }
                self.status(&update.status);
                self.metadata(update.metadata.as_deref());
            }
            StreamResponse::ArtifactUpdate(update) => {
                if self.is_verbose {
                    self.head(&update.task_id, Some(&update.context_id));
                    self.field("Append", if update.append { "true" } else { "false" });
                    self.field("Last-Chunk", if update.last_chunk { "true" } else { "false" });
                }
                self.artifact(&update.artifact);
                self.metadata(update.metadata.as_deref());
            }
        }
    }
}

/// The answer of a completed task without artifacts, from its history: LangGraph and Microsoft's Agent Framework
/// answer in a message that is not in the last status.
fn answer_in_history(task: &Task) -> Option<&Message> {
    let is_answer = task.state() == TaskState::Completed && task.artifacts.is_empty();
    let last = task.history.last().filter(|message| is_answer && message.role == Role::Agent)?;
    let is_shown = task.status.message.as_ref().is_some_and(|shown| shown.parts == last.parts);
    (!is_shown).then_some(last)
}

/// Whether an artifact's only part is an empty text.
pub(super) fn is_blank(artifact: &Artifact) -> bool {
    artifact.parts.only().is_some_and(|part| part.as_text() == Some(""))
}

/// The parts of an artifact, with the chunks of a text joined to that text.
fn joined(artifact: &Artifact) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut text = String::new();
    for part in &artifact.parts {
        if is_bare(part) {
            text.push_str(part.as_text().unwrap_or_default());
            continue;
        }
        if !text.is_empty() {
            parts.push(Part::text(std::mem::take(&mut text)));
        }
        parts.push(part.into());
    }
    if !text.is_empty() || (parts.is_empty() && !artifact.parts.is_empty()) {
        parts.push(Part::text(text));
    }
    parts
}
