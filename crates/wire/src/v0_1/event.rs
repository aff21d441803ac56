//! Events of a stream: of a status or of an artifact, told apart by their members (K-4, K-7).

use nuncio_model::{
    ContextId, Message, StreamResponse, Struct, Task, TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Value,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};

use super::{
    mark,
    message::{StatusIn, StatusOut, state_around},
    task::{ArtifactIn, ArtifactOut, Piece},
};
use crate::dialect::finality;

/// Writes an event. The server's course leaves only those of a status or an artifact; of others this tells the status.
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
                if let Some(metadata) = mark::Shown::new(update.metadata.as_deref(), None) {
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
    map.serialize_entry("final", &finality::said(metadata).unwrap_or_else(|| is_stop(status.state)))?;
    if let Some(metadata) = mark::Shown::new(metadata, state_around(status)) {
        map.serialize_entry("metadata", &metadata)?;
    }
    map.end()
}

/// Whether a stream of 0.1 ends at this state: the task has ended, or waits for its client.
pub(super) fn is_stop(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// The status that stands for an agent's direct answer, which 0.1 does not have.
pub(super) fn answered(message: &Message) -> TaskStatus {
    TaskStatus { state: TaskState::Completed, message: Some(message.clone()), timestamp: None }
}

/// Reads an event.
pub(super) struct EventIn(pub(super) StreamResponse);

impl<'de> Deserialize<'de> for EventIn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(expecting = "an event")]
        struct Members {
            id: Option<String>,
            status: Option<StatusIn>,
            artifact: Option<ArtifactIn>,
            #[serde(rename = "final")]
            is_final: Option<Value>,
            metadata: Option<Struct>,
        }
        let Members { id, status, artifact, is_final, mut metadata } = Members::deserialize(from)?;
        let (task_id, context_id) = (TaskId::from(id.unwrap_or_default()), ContextId::default());
        Ok(Self(match (status, artifact) {
            (_, Some(artifact)) => {
                let Piece { artifact, append, last_chunk } = artifact.into_artifact();
                let metadata = metadata.map(Box::new);
                let update = TaskArtifactUpdateEvent { task_id, context_id, artifact, append, last_chunk, metadata };
                StreamResponse::ArtifactUpdate(update)
            }
            (Some(status), None) => {
                let status = status.into_status(&mut metadata);
                let metadata = metadata.map(Box::new);
                let mut update = TaskStatusUpdateEvent { task_id, context_id, status, metadata };
                finality::keep(&mut update, is_final == Some(Value::Bool(true)));
                StreamResponse::StatusUpdate(update)
            }
            (None, None) => return Err(D::Error::custom("an event needs status or artifact")),
        }))
    }
}
