//! Tasks and artifacts of 0.1. `sessionId` groups tasks. `index`, `append` and `lastChunk` are members of an artifact.

use nuncio_model::{Artifact, ArtifactId, Parts, Role, Struct, Task};
use serde::{Deserializer, Serialize, Serializer, ser::SerializeMap};

use super::{
    Oldest, mark,
    message::{self, MessageOut, StatusOut, state_around},
};
use crate::shape::{Read, out, reads};

/// Writes a task.
pub(super) struct TaskOut<'a>(pub(super) &'a Task);

impl Serialize for TaskOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &task.id)?;
        if let Some(context) = &task.context_id {
            map.serialize_entry("sessionId", context)?;
        }
        map.serialize_entry("status", &StatusOut(&task.status))?;
        if !task.artifacts.is_empty() {
            let artifacts: Vec<_> = task
                .artifacts
                .iter()
                .enumerate()
                .map(|(place, artifact)| ArtifactOut { artifact, place, chunk: None })
                .collect();
            map.serialize_entry("artifacts", &artifacts)?;
        }
        if !task.history.is_empty() {
            let history: Vec<_> = task.history.iter().map(|message| MessageOut(message, None)).collect();
            map.serialize_entry("history", &history)?;
        }
        if let Some(metadata) = mark::ShownMetadata::new(task.metadata.as_deref(), state_around(&task.status)) {
            map.serialize_entry("metadata", &metadata)?;
        }
        map.end()
    }
}

reads! {
    Task as Oldest, named Task {
        id => required "id",
        context_id => implicit "sessionId" | "session_id",
        status => required "status",
        artifacts => required "artifacts",
        history => required "history",
        metadata => presence "metadata",
    }
}

/// Completes a received task: sets the task and the session of its messages.
pub(super) fn complete(task: &mut Task) {
    message::complete_status(&mut task.status, &mut task.metadata);
    for message in &mut task.history {
        message::complete(message, Role::Unspecified);
    }
    let (id, context) = (task.id.clone(), task.context_id.clone());
    for message in task.messages_mut() {
        message.task_id = Some(id.clone());
        message.context_id.clone_from(&context);
    }
}

/// The number of an artifact, as its id.
pub(super) fn numbered(index: usize) -> ArtifactId {
    index.to_string().into()
}

/// Writes an artifact. The `index` is the id if the id is a number, else the place of the artifact.
pub(super) struct ArtifactOut<'a> {
    pub(super) artifact: &'a Artifact,
    pub(super) place: usize,
    /// For an event: whether the chunk is appended, and whether the chunk is the last.
    pub(super) chunk: Option<(bool, bool)>,
}

impl Serialize for ArtifactOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let artifact = self.artifact;
        let mut map = to.serialize_map(None)?;
        if let Some(name) = &artifact.name {
            map.serialize_entry("name", name)?;
        }
        if let Some(description) = &artifact.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("parts", &out::<Oldest, _>(&artifact.parts))?;
        let index = artifact.artifact_id.as_str().parse::<u32>().ok();
        map.serialize_entry("index", &index.map_or(self.place, |index| index as usize))?;
        if let Some((append, last_chunk)) = self.chunk {
            map.serialize_entry("append", &append)?;
            map.serialize_entry("lastChunk", &last_chunk)?;
        }
        if let Some(metadata) = &artifact.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

/// A received artifact, complete or a chunk.
#[derive(Default)]
pub(super) struct ArtifactIn {
    index: i64,
    name: Option<Box<str>>,
    description: Option<Box<str>>,
    parts: Parts,
    metadata: Option<Box<Struct>>,
    pub(super) append: bool,
    pub(super) last_chunk: bool,
}

reads! {
    ArtifactIn as Oldest, named Artifact {
        name => implicit "name",
        description => implicit "description",
        parts => required "parts",
        index => required "index",
        append => required "append",
        last_chunk => required "lastChunk" | "last_chunk",
        metadata => presence "metadata",
    }
}

impl From<ArtifactIn> for Artifact {
    fn from(artifact: ArtifactIn) -> Self {
        Self {
            artifact_id: artifact.index.to_string().into(),
            name: artifact.name,
            description: artifact.description,
            parts: artifact.parts,
            metadata: artifact.metadata,
            extensions: Vec::new(),
        }
    }
}

impl Read<Oldest> for Artifact {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        ArtifactIn::read(from).map(Self::from)
    }
}
