//! Events in the form of the dialect's webhooks and examples.

use memchr::memmem;
use nuncio_model::{Leniency, StreamResponse, TaskArtifactUpdateEvent, leniency};
use serde::{Deserialize, de::IgnoredAny};

/// Reads an event without the enclosing member that names its kind. The members of the event tell its kind.
pub(in crate::v1_0) fn bare(json: &[u8]) -> Option<StreamResponse> {
    let event = leniency::in_answer(|| by_members(json))?;
    Leniency::BareEvent.note();
    Some(event)
}

fn by_members(json: &[u8]) -> Option<StreamResponse> {
    #[derive(Deserialize)]
    struct Members {
        #[serde(alias = "task_id", rename = "taskId")]
        task_id: Option<IgnoredAny>,
        #[serde(alias = "message_id", rename = "messageId")]
        message_id: Option<IgnoredAny>,
        id: Option<IgnoredAny>,
        status: Option<IgnoredAny>,
        artifact: Option<IgnoredAny>,
    }
    let members: Members = serde_json::from_slice(json).ok()?;
    match members {
        Members { task_id: Some(_), artifact: Some(_), .. } => {
            let update = serde_json::from_slice(json).ok()?;
            Some(StreamResponse::ArtifactUpdate(with_inner_marks(update, json)))
        }
        Members { task_id: Some(_), status: Some(_), .. } => {
            serde_json::from_slice(json).map(StreamResponse::StatusUpdate).ok()
        }
        Members { message_id: Some(_), .. } => serde_json::from_slice(json).map(StreamResponse::Message).ok(),
        Members { id: Some(_), status: Some(_), .. } => serde_json::from_slice(json).map(StreamResponse::Task).ok(),
        _ => None,
    }
}

/// Reads the flags `append` and `lastChunk` inside of the artifact, where 0.1 has them. If the event itself has a flag,
/// the event is unchanged.
pub(in crate::v1_0) fn with_inner_marks(mut event: TaskArtifactUpdateEvent, json: &[u8]) -> TaskArtifactUpdateEvent {
    #[derive(Deserialize)]
    struct Wrapped {
        #[serde(rename = "artifactUpdate", alias = "artifact_update")]
        event: Event,
    }
    #[derive(Deserialize)]
    struct Event {
        artifact: Marks,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Marks {
        append: bool,
        #[serde(rename = "lastChunk", alias = "last_chunk")]
        last_chunk: bool,
    }
    let names: [&[u8]; 3] = [b"\"append\"", b"\"lastChunk\"", b"\"last_chunk\""];
    if !event.append && !event.last_chunk && names.iter().any(|name| memmem::find(json, name).is_some()) {
        let wrapped = serde_json::from_slice::<Wrapped>(json).map(|wrapped| wrapped.event);
        if let Ok(Event { artifact }) = wrapped.or_else(|_| serde_json::from_slice(json)) {
            if artifact.append || artifact.last_chunk {
                Leniency::InnerMarks.note();
            }
            event.append = artifact.append;
            event.last_chunk = artifact.last_chunk;
        }
    }
    event
}
