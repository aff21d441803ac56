//! The flag that a status is the last of a stream. Versions before 1.0 carry the flag in the event.
//!
//! The state of a status usually implies the flag. If not, only the plan knows the flag; the plan stores the flag in
//! the metadata of the event, and the encoder of the event reads the flag from there. A client also stores the flag in
//! the metadata if the state is unknown.

#[cfg(any(feature = "v0-2", feature = "v0-3"))]
use std::borrow::Cow;

use nuncio_model::Struct;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
use nuncio_model::{TaskState, TaskStatusUpdateEvent};

/// The metadata key of the flag.
pub(crate) const KEY: &str = "https://nuncio.dev/a2a/final";

/// Client: whether the metadata, of an event or of the task from the event, says that no more events follow although
/// the state is unknown.
pub fn is_marked_last(metadata: Option<&Struct>) -> bool {
    last_flag(metadata) == Some(true)
}

/// Client: stores the flag of an event whose state is unknown. Known states imply the flag.
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) fn set_last_if_unknown(update: &mut TaskStatusUpdateEvent, is_last: bool) {
    if is_last && update.status.state == TaskState::Unspecified {
        set_last(update, true);
    }
}

/// Stores in an event whether the event is the last of its stream.
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) fn set_last(update: &mut TaskStatusUpdateEvent, is_last: bool) {
    update.metadata.get_or_insert_default().insert(KEY.to_owned(), is_last.into());
}

/// The flag that [`set_last`] stored.
pub(crate) fn last_flag(metadata: Option<&Struct>) -> Option<bool> {
    metadata?.get(KEY)?.as_bool()
}

/// The metadata without the flag, or `None` if nothing else remains.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn without(metadata: Option<&Struct>) -> Option<Cow<'_, Struct>> {
    let metadata = metadata?;
    if !metadata.contains_key(KEY) {
        return Some(Cow::Borrowed(metadata));
    }
    let mut left = metadata.clone();
    left.remove(KEY);
    (!left.is_empty()).then_some(Cow::Owned(left))
}
