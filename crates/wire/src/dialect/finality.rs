//! Which status is the last of a stream: versions before 1.0 say so in the event itself.
//!
//! A state tells it most of the time, and where it does not, only a plan knows. It says so in the event's metadata,
//! from where it is taken when the event is written. A client finds it there, too, where a state tells nothing at all.

#[cfg(any(feature = "v0-2", feature = "v0-3"))]
use std::borrow::Cow;

use nuncio_model::Struct;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
use nuncio_model::{TaskState, TaskStatusUpdateEvent};

/// Where in metadata it is said.
pub(crate) const KEY: &str = "https://nuncio.dev/a2a/final";

/// Client: whether the agent said with this metadata, of an event or of the task that it made, that nothing more will
/// come although the state is unknown.
pub fn is_marked_last(metadata: Option<&Struct>) -> bool {
    last_flag(metadata) == Some(true)
}

/// Client: keeps what the agent said of an event whose state does not tell whether there is more to come.
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) fn set_last_if_unknown(update: &mut TaskStatusUpdateEvent, is_last: bool) {
    if is_last && update.status.state == TaskState::Unspecified {
        set_last(update, true);
    }
}

/// Says of an event whether it is the last of its stream.
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) fn set_last(update: &mut TaskStatusUpdateEvent, is_last: bool) {
    update.metadata.get_or_insert_default().insert(KEY.to_owned(), is_last.into());
}

/// What [`set_last`] said.
pub(crate) fn last_flag(metadata: Option<&Struct>) -> Option<bool> {
    metadata?.get(KEY)?.as_bool()
}

/// Metadata without it; `None` where nothing is left.
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
