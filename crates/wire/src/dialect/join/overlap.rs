//! Which pieces of an artifact that come over a stream are in it already.

use std::sync::Arc;

use nuncio_model::{Part, PartRef, Parts, StreamEvent, TaskArtifactUpdateEvent};

/// An artifact that was read, and the pieces that came since before it was.
///
/// Where in the artifact the stream began is not known. Each place where the pieces so far fit is kept in mind, and
/// with it the pieces, until none is left: a place counts if the pieces reach the artifact's end from there, and the
/// one with the most pieces is taken, since the stream was there before the artifact was read.
pub(super) struct Overlap {
    parts: Vec<Part>,
    /// Where the next piece would have to stand, for each place that is possible and short of the end.
    open: Vec<usize>,
    pieces: Vec<Arc<StreamEvent>>,
    /// How many of the pieces are in the artifact for sure.
    known: usize,
}

impl Overlap {
    pub(super) fn new(parts: Vec<Part>) -> Self {
        let open = (0..parts.len()).collect();
        Self { parts, open, pieces: Vec::new(), known: 0 }
    }

    /// Takes the next piece. Once it is clear where the stream began, gives the pieces that are not in the artifact.
    pub(super) fn take(
        &mut self,
        event: &Arc<StreamEvent>,
        update: &TaskArtifactUpdateEvent,
    ) -> Option<Vec<Arc<StreamEvent>>> {
        let Self { parts, open, pieces, known } = self;
        let piece = &update.artifact.parts;
        pieces.push(Arc::clone(event));
        // What takes the place of all before it stands at the beginning.
        open.retain(|at| (update.append || *at == 0) && begins_with(&parts[*at..], piece));
        for at in open.iter_mut() {
            *at += piece.len();
        }
        if open.contains(&parts.len()) {
            *known = pieces.len();
            open.retain(|at| *at < parts.len());
        }
        open.is_empty().then(|| pieces.split_off(*known))
    }

    /// The pieces that are not known to be in the artifact.
    pub(super) fn settle(mut self) -> Vec<Arc<StreamEvent>> {
        self.pieces.split_off(self.known)
    }
}

fn begins_with(parts: &[Part], piece: &Parts) -> bool {
    parts.len() >= piece.len() && piece.iter().eq(parts[..piece.len()].iter().map(PartRef::from))
}
