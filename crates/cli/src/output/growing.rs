//! A growing text: a piece of an artifact continues the last piece if there was no other output in between.

use std::sync::{Mutex, PoisonError};

use nuncio_model::{ArtifactId, PartRef, TaskArtifactUpdateEvent, TaskId};

use crate::escape::Block;

/// The block on stdout that is not closed yet.
struct Open {
    of: (TaskId, ArtifactId),
    text: Block,
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

/// The end of the open block, if any: the rest of its line, and a blank line.
pub(super) fn end() -> String {
    let mut rest = String::new();
    if let Some(mut open) = OPEN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        open.text.end(&mut rest);
        rest.push_str(if open.text.is_at_line_start() { "\n" } else { "\n\n" });
    }
    rest
}

/// Whether a block is open.
pub(super) fn is_open() -> bool {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// The continuation of the open text; `None` if the piece belongs to another text.
pub(super) fn more(update: &TaskArtifactUpdateEvent) -> Option<String> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.as_mut().filter(|open| update.append && open.of == of(update))?;
    let parts = &update.artifact.parts;
    if parts.is_empty() || !parts.iter().all(is_bare) {
        return None;
    }
    let mut text = String::new();
    parts.iter().for_each(|part| open.text.push(part.as_text().unwrap_or_default(), &mut text));
    Some(text)
}

/// Takes note of the block that was written last and can grow.
pub(super) fn begin(update: &TaskArtifactUpdateEvent, text: Block) {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Open { of: of(update), text });
}

fn of(update: &TaskArtifactUpdateEvent) -> (TaskId, ArtifactId) {
    (update.task_id.clone(), update.artifact.artifact_id.clone())
}

/// Whether a part is plain text, so that the next part can continue it.
pub(super) fn is_bare(part: PartRef<'_>) -> bool {
    part.as_text().is_some() && part.media_type().is_none() && part.metadata().is_none()
}
