//! Housekeeping: each step is a write like any other, so that those of others come in between.

use std::time::Duration;

use nuncio_engine::{
    StoreError,
    store::{Erase, Purge},
};
use nuncio_model::Timestamp;
use tokio::time::{Instant, sleep};

use super::{
    SqliteStore,
    queue::{Candidate, Done, Op, Removed},
    read::upkeep,
};

/// Tasks that are looked for at a time.
const FOUND: usize = 2_048;

/// Tasks that are deleted in one write: others wait for it, about a millisecond.
const STEP: usize = 32;

/// How long an erasure waits for readers that keep the log from being emptied, and how often it looks.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(10));

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
            // Those that stay have changed since they were found; if they are old again, it is for the next time.
            if is_all || went == 0 || gone == purge.limit {
                break;
            }
        }
        if gone > 0 {
            self.sweep().await?;
            self.write(Op::EmptyLog).await?;
        }
        Ok(gone)
    }

    /// Deletes tasks whatever their state, and waits until nothing of them is left in the files.
    pub(super) async fn delete_all(&self, erase: &Erase) -> Result<usize, StoreError> {
        let mut gone = 0;
        loop {
            let erase = erase.clone();
            let found = self.readers.read(move |connection| upkeep::doomed(connection, &erase, FOUND)).await?;
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
            gone += self.remove(Op::Delete { tasks, purge: purge.cloned() }).await?.tasks;
        }
        Ok(gone)
    }

    /// Drops what deleted tasks have left.
    async fn sweep(&self) -> Result<(), StoreError> {
        while self.remove(Op::Sweep).await? != Removed::default() {}
        Ok(())
    }

    /// Drops logs.
    pub(super) async fn drop_logs(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let mut gone = 0;
        while gone < limit {
            let removed = self.remove(Op::Compact { before, limit: limit - gone }).await?;
            if removed == Removed::default() {
                break;
            }
            gone += removed.tasks;
        }
        Ok(gone)
    }

    /// Forgets messages.
    pub(super) async fn forget_before(&self, before: Timestamp) -> Result<(), StoreError> {
        while self.remove(Op::Forget { before }).await? != Removed::default() {}
        Ok(())
    }

    async fn remove(&self, op: Op) -> Result<Removed, StoreError> {
        match self.queue.write(op).await? {
            Done::Removed(removed) => Ok(removed),
            _ => Ok(Removed::default()),
        }
    }

    /// Has the log emptied, in which there is what was deleted, and waits for it: for readers too, but not for ever.
    async fn empty_log(&self) -> Result<(), StoreError> {
        self.write(Op::EmptyLog).await?;
        let (patience, pause) = PATIENCE;
        let deadline = Instant::now() + patience;
        while self.log_is_to_be_emptied() {
            if Instant::now() > deadline {
                tracing::warn!(
                    "somebody reads the database for long; what was deleted is in its log until that is over"
                );
                break;
            }
            sleep(pause).await;
        }
        Ok(())
    }
}
