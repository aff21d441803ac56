//! The content of a notification, in the version under which the webhook was registered.

use std::sync::Once;

use nuncio_model::{StreamResponse, Task};
use nuncio_wire::{Dialect, Version, dialect};

/// The dialect of a format: the name of a version, or `None` for the latest version.
///
/// A build without that version uses the latest version; `told` limits the warning to one line.
pub(super) fn dialect_of(format: Option<&str>, told: &Once) -> &'static dyn Dialect {
    let version = format.map_or(Ok(Version::LATEST), str::parse);
    dialect(version.unwrap_or_else(|_| {
        told.call_once(|| {
            let latest = Version::LATEST;
            tracing::warn!(
                format,
                "webhooks: this build does not support the version of a webhook; sending version {latest}"
            );
        });
        Version::LATEST
    }))
}

/// The task at the time of an event, as far as the event tells: with the status of the event, and without later
/// messages.
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
