//! Finds the chunks of a stream that an artifact already contains.

use std::sync::Arc;

use nuncio_model::{Part, PartRef, Parts, StreamEvent, TaskArtifactUpdateEvent};

/// An artifact that was read, and the chunks that the stream delivered since before the read.
///
/// The position in the artifact at which the stream began is unknown. The algorithm tracks every position at which all
/// chunks so far fit, and keeps the chunks until no position is left. A position counts if the chunks reach the end of
/// the artifact from there. The position with the most chunks wins, because the stream was opened before the artifact
/// was read.
pub(super) struct Overlap {
    parts: Vec<Part>,
    /// For each possible position that has not reached the end: the index of the part that the next chunk must match.
    open: Vec<usize>,
    chunks: Vec<Arc<StreamEvent>>,
    /// The number of chunks that the artifact contains for certain.
    known: usize,
}

impl Overlap {
    pub(super) fn new(parts: Vec<Part>) -> Self {
        let open = (0..parts.len()).collect();
        Self { parts, open, chunks: Vec::new(), known: 0 }
    }

    /// Takes the next chunk. Once the start of the stream is known, returns the chunks that the artifact does not
    /// contain.
    pub(super) fn take(
        &mut self,
        event: &Arc<StreamEvent>,
        update: &TaskArtifactUpdateEvent,
    ) -> Option<Vec<Arc<StreamEvent>>> {
        let Self { parts, open, chunks, known } = self;
        let chunk = &update.artifact.parts;
        chunks.push(Arc::clone(event));
        // A chunk that replaces the artifact can only match at the beginning.
        open.retain(|at| (update.append || *at == 0) && begins_with(&parts[*at..], chunk));
        for at in open.iter_mut() {
            *at += chunk.len();
        }
        if open.contains(&parts.len()) {
            *known = chunks.len();
            open.retain(|at| *at < parts.len());
        }
        open.is_empty().then(|| chunks.split_off(*known))
    }

    /// The chunks that are not known to be in the artifact.
    pub(super) fn settle(mut self) -> Vec<Arc<StreamEvent>> {
        self.chunks.split_off(self.known)
    }
}

fn begins_with(parts: &[Part], chunk: &Parts) -> bool {
    parts.len() >= chunk.len() && chunk.iter().eq(parts[..chunk.len()].iter().map(PartRef::from))
}
