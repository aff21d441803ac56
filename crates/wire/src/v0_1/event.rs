//! Events of a stream: a status or an artifact. In 0.1 the members `status` and `artifact` distinguish the events, and
//! `final` marks the last event.

use nuncio_model::{
    ContextId, Error, ErrorKind, Message, StreamResponse, Struct, Task, TaskArtifactUpdateEvent, TaskId, TaskState,
    TaskStatus, TaskStatusUpdateEvent, Value,
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    Oldest, mark,
    message::{StatusOut, complete_status, state_around},
    task::{ArtifactIn, ArtifactOut},
};
use crate::{dialect::finality, shape::reads};

/// Writes an event. The plan of the server produces only status and artifact events. For other events, the status is
/// written.
pub(super) struct EventOut<'a>(pub(super) &'a StreamResponse);

impl Serialize for EventOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent { task_id, status, metadata, .. })
            | StreamResponse::Task(Task { id: task_id, status, metadata, .. }) => {
                write_status(task_id, status, metadata.as_deref(), to)
            }
            StreamResponse::Message(message) => {
                let status = answered(message);
                write_status(message.task_id.as_ref().unwrap_or(&TaskId::default()), &status, None, to)
            }
            StreamResponse::ArtifactUpdate(update) => {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("id", &update.task_id)?;
                let chunk = Some((update.append, update.last_chunk));
                map.serialize_entry("artifact", &ArtifactOut { artifact: &update.artifact, place: 0, chunk })?;
                if let Some(metadata) = mark::ShownMetadata::new(update.metadata.as_deref(), None) {
                    map.serialize_entry("metadata", &metadata)?;
                }
                map.end()
            }
        }
    }
}

fn write_status<S: Serializer>(
    id: &TaskId,
    status: &TaskStatus,
    metadata: Option<&Struct>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    map.serialize_entry("id", id)?;
    map.serialize_entry("status", &StatusOut(status))?;
    map.serialize_entry("final", &finality::last_flag(metadata).unwrap_or_else(|| is_stop(status.state)))?;
    if let Some(metadata) = mark::ShownMetadata::new(metadata, state_around(status)) {
        map.serialize_entry("metadata", &metadata)?;
    }
    map.end()
}

/// Whether a stream of 0.1 ends at this state: the task has ended or waits for its client.
pub(super) fn is_stop(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// The status that represents a direct answer of the agent. 0.1 has no direct answers.
pub(super) fn answered(message: &Message) -> TaskStatus {
    TaskStatus { state: TaskState::Completed, message: Some(Box::new(message.clone())), timestamp: None }
}

/// The members of a received event.
#[derive(Default)]
pub(super) struct EventIn {
    id: TaskId,
    status: Option<TaskStatus>,
    artifact: Option<ArtifactIn>,
    is_final: Value,
    metadata: Option<Box<Struct>>,
}

reads! {
    EventIn as Oldest, named Event {
        id => required "id",
        status => presence "status",
        artifact => presence "artifact",
        is_final => required "final",
        metadata => presence "metadata",
    }
}

impl EventIn {
    /// Converts to an event. Fails with `InvalidAgentResponse` if the event has neither a status nor an artifact.
    pub(super) fn into_event(self) -> Result<StreamResponse, Error> {
        let Self { id: task_id, status, artifact, is_final, mut metadata } = self;
        let context_id = ContextId::default();
        if let Some(received) = artifact {
            let (append, last_chunk, artifact) = (received.append, received.last_chunk, received.into());
            let update = TaskArtifactUpdateEvent { task_id, context_id, artifact, append, last_chunk, metadata };
            return Ok(StreamResponse::ArtifactUpdate(update));
        }
        let Some(mut status) = status else {
            let message = "the agent's answer cannot be read: an event needs status or artifact";
            return Err(Error::new(ErrorKind::InvalidAgentResponse, message));
        };
        complete_status(&mut status, &mut metadata);
        let mut update = TaskStatusUpdateEvent { task_id, context_id, status, metadata };
        finality::set_last_if_unknown(&mut update, is_final == Value::Bool(true));
        Ok(StreamResponse::StatusUpdate(update))
    }
}
