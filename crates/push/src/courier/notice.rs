//! What a webhook is told of an event, in the version under which it was registered.

use std::sync::Once;

use nuncio_model::{StreamResponse, Task};
use nuncio_wire::{Dialect, Version, dialect};

/// The dialect of a format: the name of a version, or none for the latest.
///
/// One that is not spoken here, of a version that another build has, is told like the latest; `told` sees to it that
/// the log says so once.
pub(super) fn dialect_of(format: Option<&str>, told: &Once) -> &'static dyn Dialect {
    let version = format.map_or(Ok(Version::LATEST), str::parse);
    dialect(version.unwrap_or_else(|_| {
        told.call_once(|| {
            let latest = Version::LATEST;
            tracing::warn!(
                format,
                "a webhook was registered in a version that is not spoken here; it is told in {latest}"
            );
        });
        Version::LATEST
    }))
}

/// The task as an event of its log told it, as far as that is known: with the status of the event, and without what was
/// said after it.
pub(super) fn as_of(mut task: Task, event: &StreamResponse) -> Task {
    let StreamResponse::StatusUpdate(update) = event else { return task };
    if let Some(message) = &update.status.message
        && let Some(place) = task.history.iter().rposition(|later| later.message_id == message.message_id)
    {
        task.history.truncate(place);
    }
    task.status.clone_from(&update.status);
    task
}
