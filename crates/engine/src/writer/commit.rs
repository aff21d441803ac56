//! Commits staged records to the store, and then publishes them.

use std::sync::Arc;

use nuncio_model::{Error, Task};

use super::{LogWriter, is_at_rest};
use crate::{
    bugs, cluster,
    lifecycle::Fold,
    record::Record,
    store::{Commit, StoreError},
};

/// The least number of records between two snapshots.
const SNAPSHOT_EVERY: u64 = 256;

/// The least ratio of these records to the log before them. All snapshots of a running task then cost a sixty-third of
/// the last one, and loading a task costs no more than its records.
const TIMES_BEFORE: u64 = 63;

impl LogWriter {
    /// Commits the staged records, publishes them, and waits for slow readers. `release` releases the task if it is
    /// interrupted or has ended. A running task is never released, because no node would run it again.
    pub(crate) async fn commit(&mut self, release: bool) -> Result<(), Error> {
        let release = release && is_at_rest(self.state);
        if self.batch.is_empty() && (!release || self.released) {
            return Ok(());
        }
        let records = std::mem::take(&mut self.batch);
        let creates = self.sequence == 0;
        let sequence = self.sequence + records.len() as u64;
        let is_long = sequence - self.snapshot_at >= SNAPSHOT_EVERY.max(TIMES_BEFORE * self.snapshot_at);
        let snapshot = (creates || release || is_long).then(|| self.fold(&records));
        if creates && (!self.state.is_terminal() || self.has_much_to_read()) {
            self.shared.register(&self.live);
        }
        // In a box, so that the future of a commit is small.
        let commit = Box::new(Commit {
            scope: self.live.scope.clone(),
            id: self.live.id.clone(),
            context: self.context.clone(),
            expected: self.sequence,
            epoch: self.epoch.unwrap_or_default(),
            records: records.clone(),
            state: self.state,
            updated: self.updated,
            released: release,
            snapshot: snapshot.clone(),
            push_configs: std::mem::take(&mut self.push_configs),
            acks: std::mem::take(&mut self.acks),
            remember: self.remembered(),
        });
        let was_early = !creates && bugs::publishes_before_commit();
        if was_early {
            self.live.publish(&records, snapshot.clone(), self.epoch, &self.shared.reader_budget);
            bugs::pause().await;
        }
        if !creates {
            self.live.lock().is_committing = true;
        }
        let outcome = if creates { self.write_once(commit).await } else { self.write(commit).await };
        let committed = match outcome {
            Ok(committed) => committed,
            Err(StoreError::Conflict) if !creates && Box::pin(self.check_deleted()).await => {
                return Err(Error::task_not_found(self.live.id.as_str()));
            }
            Err(error) => return Err(self.report(error, "a commit")),
        };
        self.epoch = Some(committed.epoch);
        self.sequence = sequence;
        self.released = release;
        if snapshot.is_some() {
            self.snapshot_at = sequence;
        }
        let is_shared = self.shared.store.cluster().is_some();
        if is_shared && release {
            self.epoch = None;
        }
        if is_shared && records.iter().any(|record| matches!(record, Record::Begun(_))) {
            // A message that arrived as a command, while another node ran the task, may own this turn.
            Box::pin(self.look_up_turns(&records)).await;
        }
        let records = if was_early { Vec::new() } else { records };
        let backlog = self.live.publish(&records, snapshot, self.epoch, &self.shared.reader_budget);
        if is_shared {
            self.shared.members.changed(&self.live.id, sequence);
            cluster::note_rest(&self.live);
            self.live.lock().remote_calls.iter().for_each(|it| it.moved());
        }
        if committed.has_pending_push {
            self.shared.push_wakeups.notify_one();
        }
        if backlog.records > 0 {
            self.shared.evict_slow_readers();
        }
        if backlog.is_beyond(self.shared.limits.backlog()) {
            self.apply_backpressure().await;
        }
        Ok(())
    }

    /// Whether a commit was refused because the task was deleted. No other node owns the task then.
    async fn check_deleted(&mut self) -> bool {
        let is_deleted = matches!(self.shared.is_there(&self.live).await, Ok(false));
        if is_deleted {
            tracing::info!(task = %self.live.id, "writer: the task was deleted while it was running");
            self.fenced = false;
        }
        is_deleted
    }

    async fn look_up_turns(&self, records: &[Record]) {
        if let Err(error) = cluster::look_up_turns(&self.shared, &self.live, records).await {
            tracing::warn!(task = %self.live.id, error = &error as &dyn std::error::Error, "writer: cannot find the message of a turn; its callers wait for the end of the task");
        }
    }

    /// The task after these records.
    fn fold(&self, records: &[Record]) -> Arc<Task> {
        let before = Arc::clone(&self.live.lock().task);
        let mut task = Arc::unwrap_or_clone(before);
        let mut fold = Fold::default();
        for record in records {
            if let Err(error) = fold.apply(&mut task, record) {
                tracing::error!(task = %self.live.id, %error, "writer: a checked record does not apply");
            }
        }
        Arc::new(task)
    }
}
