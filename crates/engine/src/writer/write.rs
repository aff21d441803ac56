//! Writes a commit. After a failure, writes again until the result is certain.

use nuncio_limit::Failures;
use nuncio_model::{Error, TaskId};
use tokio::time::{Instant, sleep};

use super::LogWriter;
use crate::{
    bugs,
    limits::WRITE_AGAIN,
    store::{Commit, Committed, Portion, StoreError},
};

impl LogWriter {
    /// Writes the commit once. A new task has no accepted messages, and the client can try again.
    pub(super) async fn write_once(&mut self, commit: Box<Commit>) -> Result<Committed, StoreError> {
        self.in_doubt = true;
        let outcome = self.shared.store.commit(*commit).await;
        self.in_doubt = matches!(outcome, Err(StoreError::Unavailable(_)));
        outcome
    }

    /// Writes the commit. If the store cannot write, tries again for a limited time.
    pub(super) async fn write(&mut self, commit: Box<Commit>) -> Result<Committed, StoreError> {
        let begun = Instant::now();
        let outcome = match self.shared.store.commit(Commit::clone(&commit)).await {
            // In a box, because this path is rare, and its future is larger than all others of a runner.
            Err(error) if error.is_transient() => Box::pin(self.write_again(&commit, error, begun)).await,
            outcome => outcome,
        };
        let outcome = match outcome {
            Err(StoreError::Duplicate(other)) => Box::pin(self.write_anyway(commit, &other)).await,
            Err(StoreError::Conflict) if bugs::ignores_fencing() => {
                Box::pin(bugs::write_unfenced(&self.shared.store, commit)).await
            }
            outcome => outcome,
        };
        self.fenced = matches!(outcome, Err(StoreError::Conflict)) && self.shared.store.cluster().is_some();
        outcome
    }

    /// Writes the commit without message ids that another task already has: the message was sent to both tasks at the
    /// same time, or was not recognized as a duplicate. The other records of the commit must not be lost.
    async fn write_anyway(&self, mut commit: Box<Commit>, other: &TaskId) -> Result<Committed, StoreError> {
        tracing::warn!(task = %self.live.id, %other, "writer: a message id was sent to two tasks; the id stays with the other task");
        commit.remember = None;
        match self.shared.store.commit(Commit::clone(&commit)).await {
            Err(error) if error.is_transient() => self.write_again(&commit, error, Instant::now()).await,
            outcome => outcome,
        }
    }

    /// Tries a failed commit again, until the time limit or until the result is certain.
    async fn write_again(
        &self,
        commit: &Commit,
        mut error: StoreError,
        begun: Instant,
    ) -> Result<Committed, StoreError> {
        let mut failures = Failures::default();
        while error.is_transient() && begun.elapsed() < self.shared.limits.commit_retry {
            tracing::warn!(task = %self.live.id, %error, "store: a commit failed; retrying");
            sleep(failures.next_delay(&WRITE_AGAIN)).await;
            error = match self.shared.store.commit(commit.clone()).await {
                Err(StoreError::Conflict) => match self.find_written(commit).await {
                    Ok(committed) => return Ok(committed),
                    Err(error) => error,
                },
                Err(error) => error,
                committed => return committed,
            };
        }
        Err(error)
    }

    /// Finds a commit that was written although it failed. No other writer uses this epoch, so a log that ends at the
    /// last record of the commit contains it. If another node has written since, the records are compared.
    async fn find_written(&self, commit: &Commit) -> Result<Committed, StoreError> {
        let stored = self.shared.store.load(&commit.scope, &commit.id).await?.ok_or(StoreError::Conflict)?;
        let is_written = if stored.epoch == commit.epoch {
            stored.sequence == commit.sequence()
        } else {
            stored.sequence >= commit.sequence() && self.has_records(commit).await?
        };
        // It is unknown whether the commit owes pushes. An unnecessary look at the outbox is harmless.
        is_written.then_some(Committed { epoch: commit.epoch, has_pending_push: true }).ok_or(StoreError::Conflict)
    }

    /// Whether the log contains exactly these records. Messages in the log must not be forwarded to another node.
    async fn has_records(&self, commit: &Commit) -> Result<bool, StoreError> {
        let Commit { scope, id, expected, records, .. } = commit;
        match self.shared.store.events_after(scope, id, *expected, Portion::records(records.len())).await {
            Ok(found) => Ok(found == *records),
            Err(StoreError::Compacted) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn report(&self, error: StoreError, what: &str) -> Error {
        if let StoreError::Duplicate(other) = &error {
            tracing::debug!(task = %self.live.id, %other, "writer: another node has already accepted the message");
            return error.into();
        }
        tracing::error!(task = %self.live.id, error = &error as &dyn std::error::Error, "store: {what} failed");
        error.into()
    }
}
