//! Converts tasks for clients of 0.1: the task has the id of the client, and its artifacts are numbered in their order.

use std::sync::Arc;

use nuncio_model::{Error, StreamResponse, Task, TaskId};

use super::{event::EventOut, mark::Mark, task::TaskOut, task::numbered};
use crate::json;

/// The task with this id and at most `history` messages of history.
pub(super) fn task(task: Arc<Task>, client_id: &TaskId, history: Option<i32>) -> Arc<Task> {
    let mut task = Arc::unwrap_or_clone(task);
    task.id = client_id.clone();
    for (index, artifact) in task.artifacts.iter_mut().enumerate() {
        artifact.artifact_id = numbered(index);
    }
    task.limit_history(history.and_then(|length| usize::try_from(length).ok()));
    Arc::new(task)
}

/// The error with the task id of the client instead of the server's id.
pub(super) fn error(error: Error, server_id: &TaskId, client_id: &TaskId) -> Error {
    let (ours, theirs) = (server_id.as_str(), client_id.as_str());
    if ours == theirs || ours.is_empty() || !error.message().contains(ours) {
        return error;
    }
    let mut shown = Error::new(error.kind(), error.message().replace(ours, theirs));
    for (name, value) in error.metadata() {
        shown = shown.with_metadata(name, value.replace(ours, theirs));
    }
    if let Some(after) = error.retry_after() {
        shown = shown.with_retry_after(after);
    }
    shown.with_source(error)
}

/// Writes the notice for a webhook: the whole task without its history, because 0.1 sends history only on request.
pub(super) fn notice(event: &StreamResponse, to: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(it) => {
            let client_id = Mark::client_id(it).map_or_else(|| it.id.clone(), TaskId::from);
            json::write(&TaskOut(&task(Arc::new(it.clone()), &client_id, Some(0))), to);
        }
        event => json::write(&EventOut(event), to),
    }
}
