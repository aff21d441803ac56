//! Housekeeping. Each step is a separate write in the queue, so that writes of callers run between the steps.

use std::time::Duration;

use nuncio_engine::{
    StoreError,
    store::{Erase, Purge},
};
use nuncio_model::Timestamp;
use tokio::time::{Instant, sleep};

use super::{
    SqliteStore,
    queue::{Candidate, Removed, WriteOp, WriteOutput},
    read::upkeep,
};

/// The maximum number of tasks per search.
const FOUND: usize = 2_048;

/// The maximum number of tasks that one write deletes. Other writes wait about one millisecond for such a write.
const STEP: usize = 32;

/// How long an erasure waits for readers that prevent emptying the log, and the interval of the checks.
const LOG_WAIT: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(10));

impl SqliteStore {
    /// Deletes old tasks.
    pub(super) async fn delete_old(&self, purge: &Purge) -> Result<usize, StoreError> {
        let mut gone = 0;
        loop {
            let limit = FOUND.min(purge.limit - gone);
            let found = {
                let purge = purge.clone();
                self.readers.read(move |connection| upkeep::old(connection, &purge, limit)).await?
            };
            let is_all = found.len() < limit;
            let went = self.delete(found, Some(purge)).await?;
            gone += went;
            // Tasks that were not deleted have changed since the search. If they are old again, the next purge deletes
            // them.
            if is_all || went == 0 || gone == purge.limit {
                break;
            }
        }
        if gone > 0 {
            self.sweep().await?;
            self.write(WriteOp::EmptyLog).await?;
        }
        Ok(gone)
    }

    /// Deletes tasks in any state, and waits until the files contain no data of these tasks.
    pub(super) async fn delete_all(&self, erase: &Erase) -> Result<usize, StoreError> {
        let mut gone = 0;
        loop {
            let erase = erase.clone();
            let found = self.readers.read(move |connection| upkeep::to_erase(connection, &erase, FOUND)).await?;
            if found.is_empty() {
                break;
            }
            gone += self.delete(found, None).await?;
        }
        self.sweep().await?;
        self.empty_log().await?;
        Ok(gone)
    }

    async fn delete(&self, mut found: Vec<Candidate>, purge: Option<&Purge>) -> Result<usize, StoreError> {
        let mut gone = 0;
        while !found.is_empty() {
            let tasks = found.split_off(found.len().saturating_sub(STEP));
            gone += self.remove(WriteOp::Delete { tasks, purge: purge.cloned() }).await?.tasks;
        }
        Ok(gone)
    }

    /// Deletes the remaining records of deleted tasks.
    async fn sweep(&self) -> Result<(), StoreError> {
        while self.remove(WriteOp::Sweep).await? != Removed::default() {}
        Ok(())
    }

    /// Deletes the records of tasks that were released before a time.
    pub(super) async fn drop_logs(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let mut gone = 0;
        while gone < limit {
            let removed = self.remove(WriteOp::Compact { before, limit: limit - gone }).await?;
            if removed == Removed::default() {
                break;
            }
            gone += removed.tasks;
        }
        Ok(gone)
    }

    /// Deletes message ids that were stored before a time.
    pub(super) async fn forget_before(&self, before: Timestamp) -> Result<(), StoreError> {
        while self.remove(WriteOp::Forget { before }).await? != Removed::default() {}
        Ok(())
    }

    async fn remove(&self, op: WriteOp) -> Result<Removed, StoreError> {
        match self.queue.write(op).await? {
            WriteOutput::Removed(removed) => Ok(removed),
            _ => Ok(Removed::default()),
        }
    }

    /// Requests that the log with the deleted data is emptied, and waits until the log is empty. Readers can delay this
    /// step, so the wait has a time limit.
    async fn empty_log(&self) -> Result<(), StoreError> {
        self.write(WriteOp::EmptyLog).await?;
        let (timeout, pause) = LOG_WAIT;
        let deadline = Instant::now() + timeout;
        while self.log_must_be_emptied() {
            if Instant::now() > deadline {
                tracing::warn!(
                    "store: cannot empty the log because of a long read; deleted data remains in the log until the read ends"
                );
                break;
            }
            sleep(pause).await;
        }
        Ok(())
    }
}
