//! `GetTask` (section 3.1.3).

use std::sync::Arc;

use nuncio_model::{Error, Reply, Scope, op::GetTaskRequest};

use crate::{conversation::with_history, shared::Shared};

pub(super) async fn call(shared: &Arc<Shared>, scope: Scope, call: GetTaskRequest) -> Result<Reply, Error> {
    let live = shared.registry.find(&scope, &call.id).and_then(|task_ref| {
        let state = task_ref.lock();
        // If another node may have written, or a reader may have read an uncommitted record of this node from the
        // store, the task is read from the store.
        let is_newest = (state.is_owned() || shared.store.cluster().is_none()) && !state.is_committing;
        (state.sequence > 0 && is_newest && !state.is_evicted).then(|| Arc::clone(&state.task))
    });
    let task = match live {
        Some(task) => task,
        None => match shared.store.load(&scope, &call.id).await? {
            Some(stored) => stored.task,
            None => return Err(Error::task_not_found(call.id.as_str())),
        },
    };
    Ok(Reply::Task(with_history(task, call.history_length)))
}
