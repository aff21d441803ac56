//! Writes an artifact in chunks.

use std::future::Future;

use nuncio_model::{Artifact, Part, StreamResponse, TaskArtifactUpdateEvent};

use super::Turn;
use crate::agent::AgentError;

/// Writes one artifact of a turn in chunks. [`Turn::artifact`] creates the writer.
///
/// The client receives each chunk at once. Dropping the writer emits nothing. Call [`finish`](Self::finish) to mark the
/// last chunk.
#[derive(Debug)]
pub struct ArtifactWriter<'a> {
    turn: &'a Turn,
    artifact: Artifact,
    appends: bool,
}

impl<'a> ArtifactWriter<'a> {
    pub(super) fn new(turn: &'a Turn, name: Box<str>) -> Self {
        Self { turn, artifact: Artifact::new(&*name, Vec::new()).with_name(name), appends: false }
    }

    /// Sets an id that differs from the name.
    pub fn with_id(mut self, id: impl Into<nuncio_model::ArtifactId>) -> Self {
        self.artifact.artifact_id = id.into();
        self
    }

    /// Sets a description for people.
    pub fn with_description(mut self, description: impl Into<Box<str>>) -> Self {
        self.artifact.description = Some(description.into());
        self
    }

    /// Appends to the artifact with this id, if the task has one. Otherwise the first chunk replaces the artifact.
    pub fn appending(mut self) -> Self {
        self.appends = true;
        self
    }

    /// Writes the next chunk: a text, a file or data.
    pub fn chunk(&mut self, part: impl Into<Part>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.write(part.into(), false)
    }

    /// Writes the last chunk. An empty text only marks the end of an artifact that has chunks.
    pub fn finish(mut self, part: impl Into<Part>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.write(part.into(), true)
    }

    fn write(&mut self, part: Part, last_chunk: bool) -> impl Future<Output = Result<(), AgentError>> + Send + use<'a> {
        let rest = Artifact::new(self.artifact.artifact_id.clone(), Vec::new());
        let mut artifact = std::mem::replace(&mut self.artifact, rest);
        artifact.parts = [part].into();
        let append = std::mem::replace(&mut self.appends, true);
        let update = TaskArtifactUpdateEvent { artifact, append, last_chunk, ..Default::default() };
        self.turn.emit(StreamResponse::ArtifactUpdate(update))
    }
}
