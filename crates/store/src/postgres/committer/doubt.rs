//! Tasks of which nobody knows whether the last commit was written.

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

/// A read of such a task waits: what it found could be outrun by a commit that is still on its way.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Doubt {
    tasks: Mutex<HashSet<TaskId>>,
    /// Whether there are any, so that the common case takes no lock.
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

    /// The connection that they were on has ended.
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

    /// Waits until a task is not in doubt.
    pub(in crate::postgres) async fn settled(&self, task: &TaskId, deadline: Instant) -> Result<(), StoreError> {
        while self.has(task) {
            let resolved = self.resolved.notified();
            tokio::pin!(resolved);
            resolved.as_mut().enable();
            if self.has(task) {
                let waited = timeout_at(deadline, resolved).await;
                waited.map_err(|_| unavailable("it is not known yet whether the last commit was written"))?;
            }
        }
        Ok(())
    }
}
