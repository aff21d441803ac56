//! Tasks for which the outcome of the last commit is unknown.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

use nuncio_engine::StoreError;
use nuncio_model::TaskId;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::postgres::error::unavailable;

/// The set of tasks in doubt. A read of such a task waits, because a commit that is still in progress could change the
/// task after the read.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Doubt {
    tasks: Mutex<HashSet<TaskId>>,
    /// Whether the set is not empty, so that the common case needs no lock.
    exists: AtomicBool,
    resolved: Notify,
}

impl Doubt {
    pub(super) fn add<'a>(&self, tasks: impl Iterator<Item = &'a TaskId>) {
        let mut doubtful = self.tasks.lock();
        doubtful.extend(tasks.cloned());
        self.exists.store(!doubtful.is_empty(), Ordering::Release);
    }

    pub(super) fn exists(&self) -> bool {
        self.exists.load(Ordering::Acquire)
    }

    /// Clears the set. Must be called when the connection of these commits has ended.
    pub(super) fn resolve(&self) {
        let mut doubtful = self.tasks.lock();
        doubtful.clear();
        self.exists.store(false, Ordering::Release);
        drop(doubtful);
        self.resolved.notify_waiters();
    }

    fn has(&self, task: &TaskId) -> bool {
        self.exists() && self.tasks.lock().contains(task)
    }

    /// Waits until the task is no longer in doubt.
    pub(in crate::postgres) async fn settled(&self, task: &TaskId, deadline: Instant) -> Result<(), StoreError> {
        while self.has(task) {
            let resolved = self.resolved.notified();
            tokio::pin!(resolved);
            resolved.as_mut().enable();
            if self.has(task) {
                let waited = timeout_at(deadline, resolved).await;
                waited.map_err(|_| unavailable("the outcome of the last commit is not known yet; try again later"))?;
            }
        }
        Ok(())
    }
}
