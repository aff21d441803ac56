//! Tasks and artifacts (K-2, K-6).

use nuncio_model::{Artifact, ArtifactId, Role, Struct, Task};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

use super::{
    mark,
    message::{MessageIn, MessageOut, PartIn, PartsOut, StatusIn, StatusOut, into_parts, state_around},
};

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
        if let Some(metadata) = mark::Shown::new(task.metadata.as_deref(), state_around(&task.status)) {
            map.serialize_entry("metadata", &metadata)?;
        }
        map.end()
    }
}

/// Reads a task.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskIn {
    id: Option<Box<str>>,
    session_id: Option<Box<str>>,
    status: Option<StatusIn>,
    artifacts: Option<Vec<ArtifactIn>>,
    history: Option<Vec<MessageIn>>,
    metadata: Option<Struct>,
}

impl TaskIn {
    /// The task, whose messages know what they belong to.
    pub(super) fn into_task(mut self) -> Task {
        let mut task = Task {
            id: self.id.map(String::from).unwrap_or_default().into(),
            context_id: self.session_id.map(|id| String::from(id).into()),
            status: self.status.unwrap_or_default().into_status(&mut self.metadata),
            artifacts: self.artifacts.into_iter().flatten().map(|artifact| artifact.into_artifact().artifact).collect(),
            history: self.history.into_iter().flatten().map(|it| it.into_message(Role::Unspecified)).collect(),
            metadata: self.metadata.map(Box::new),
        };
        for message in task.status.message.iter_mut().chain(&mut task.history) {
            message.task_id = Some(task.id.clone());
            message.context_id.clone_from(&task.context_id);
        }
        task
    }
}

/// An artifact's number as its id.
pub(super) fn numbered(index: usize) -> ArtifactId {
    index.to_string().into()
}

/// Writes an artifact: by the number that its id is, else by its place.
pub(super) struct ArtifactOut<'a> {
    pub(super) artifact: &'a Artifact,
    pub(super) place: usize,
    /// Whether it is appended, and whether it is the last: of an event.
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
        map.serialize_entry("parts", &PartsOut(&artifact.parts))?;
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

/// Reads an artifact.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactIn {
    name: Option<Box<str>>,
    description: Option<Box<str>>,
    parts: Option<Vec<PartIn>>,
    index: Option<u32>,
    append: Option<bool>,
    last_chunk: Option<bool>,
    metadata: Option<Struct>,
}

/// An artifact, or a piece of one.
pub(super) struct Piece {
    pub(super) artifact: Artifact,
    pub(super) append: bool,
    pub(super) last_chunk: bool,
}

impl ArtifactIn {
    pub(super) fn into_artifact(self) -> Piece {
        let artifact = Artifact {
            artifact_id: numbered(self.index.unwrap_or_default() as usize),
            name: self.name,
            description: self.description,
            parts: into_parts(self.parts),
            metadata: self.metadata.map(Box::new),
            extensions: Vec::new(),
        };
        Piece { artifact, append: self.append.unwrap_or_default(), last_chunk: self.last_chunk.unwrap_or_default() }
    }
}
