//! Writing an artifact in pieces.

use std::future::Future;

use nuncio_model::{Artifact, Part, StreamResponse, TaskArtifactUpdateEvent};

use super::Turn;
use crate::agent::AgentError;

/// Writes one artifact of a turn, piece by piece; made by [`Turn::artifact`].
///
/// Each piece reaches the client at once. Dropping the writer says nothing: an artifact whose last piece should be
/// marked as such ends with [`finish`](Self::finish).
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

    /// Gives it an id that is not its name.
    pub fn with_id(mut self, id: impl Into<nuncio_model::ArtifactId>) -> Self {
        self.artifact.artifact_id = id.into();
        self
    }

    /// Describes it for people.
    pub fn with_description(mut self, description: impl Into<Box<str>>) -> Self {
        self.artifact.description = Some(description.into());
        self
    }

    /// Goes on with the artifact of this id, where the task has one: its pieces come behind those. Without this the
    /// first piece replaces it.
    pub fn appending(mut self) -> Self {
        self.appends = true;
        self
    }

    /// Writes the next piece: a text, a file, data.
    pub fn chunk(&mut self, part: impl Into<Part>) -> impl Future<Output = Result<(), AgentError>> + Send {
        self.write(part.into(), false)
    }

    /// Writes the last piece. An empty text only says that the artifact ends, where it has begun.
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
