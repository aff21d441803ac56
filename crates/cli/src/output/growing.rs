//! A text that grows: pieces of one artifact go on where the last piece ended, as long as nothing comes between.

use std::sync::{Mutex, PoisonError};

use nuncio_model::{ArtifactId, PartRef, TaskArtifactUpdateEvent, TaskId};

use super::{Text, text::plain};

/// The block on stdout that is not closed yet.
struct Open {
    of: (TaskId, ArtifactId),
    is_in_a_line: bool,
}

static OPEN: Mutex<Option<Open>> = Mutex::new(None);

/// What closes the block that is open, if any: the end of its line, and a blank line.
pub(super) fn end() -> &'static [u8] {
    match OPEN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(open) if open.is_in_a_line => b"\n\n",
        Some(_) => b"\n",
        None => b"",
    }
}

/// A piece as it goes behind the text that is open; `None` where it does not.
pub(super) fn more(update: &TaskArtifactUpdateEvent) -> Option<String> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.as_mut().filter(|open| update.append && open.of == of(update))?;
    let parts = &update.artifact.parts;
    if parts.is_empty() || !parts.iter().all(is_bare) {
        return None;
    }
    let text: String = parts.iter().flat_map(|part| plain(part.as_text().unwrap_or_default())).collect();
    if !text.is_empty() {
        open.is_in_a_line = !text.ends_with('\n');
    }
    Some(text)
}

/// Takes note that the text which was written last can grow.
pub(super) fn begin(update: &TaskArtifactUpdateEvent, written: &Text) {
    let open = Open { of: of(update), is_in_a_line: !written.ends_with_line() };
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
}

fn of(update: &TaskArtifactUpdateEvent) -> (TaskId, ArtifactId) {
    (update.task_id.clone(), update.artifact.artifact_id.clone())
}

/// Whether a part is a text and nothing else, so that the next can be joined to it.
pub(super) fn is_bare(part: PartRef<'_>) -> bool {
    part.as_text().is_some() && part.media_type().is_none() && part.metadata().is_none()
}
