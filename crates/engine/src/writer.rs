//! Writes the log of one task: checks, numbers, commits, publishes. Only the task's runner has one.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use nuncio_model::{Error, Message, StreamResponse, Task, TaskState, Timestamp};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    engine::Shared,
    lifecycle::{self, IllegalTransition},
    live::{Live, set_waker},
    record::Record,
    store::{Commit, Committed, PushConfig, StoreError},
};

/// A snapshot is worth its cost once the log after the last one is as long as this, and as the log before it: so that
/// all snapshots together cost no more than a constant times the events.
const SNAPSHOT_EVERY: u64 = 256;

pub(crate) struct LogWriter {
    shared: Arc<Shared>,
    live: Arc<Live>,
    batch: Vec<Record>,
    push_configs: Vec<PushConfig>,
    epoch: u64,
    sequence: u64,
    snapshot_at: u64,
    state: TaskState,
    updated: Timestamp,
    released: bool,
}

impl LogWriter {
    /// Writes the log of a task that does not exist yet.
    pub(crate) fn create(shared: Arc<Shared>, live: Arc<Live>, push_configs: Vec<PushConfig>) -> Self {
        Self {
            shared,
            live,
            batch: Vec::with_capacity(4),
            push_configs,
            epoch: 0,
            sequence: 0,
            snapshot_at: 0,
            state: TaskState::Submitted,
            updated: Timestamp::default(),
            released: true,
        }
    }

    /// Goes on with the log of a task that this node owns under `epoch`.
    pub(crate) fn resume(shared: Arc<Shared>, live: Arc<Live>, epoch: u64) -> Self {
        let mut writer = Self::create(shared, live, Vec::new());
        let (sequence, status) = {
            let inner = writer.live.lock();
            (inner.sequence, (inner.state(), inner.task.status.timestamp))
        };
        writer.epoch = epoch;
        writer.sequence = sequence;
        writer.snapshot_at = sequence;
        writer.state = status.0;
        writer.updated = status.1.unwrap_or_default();
        writer.released = false;
        writer
    }

    /// The state after all that is staged.
    pub(crate) fn state(&self) -> TaskState {
        self.state
    }

    /// The sequence number of the last record that is staged.
    pub(crate) fn staged(&self) -> u64 {
        self.sequence + self.batch.len() as u64
    }

    /// Whether anything is in the log.
    pub(crate) fn exists(&self) -> bool {
        self.staged() > 0
    }

    /// Whether anything of it is in the store.
    pub(crate) fn is_committed(&self) -> bool {
        self.sequence > 0
    }

    /// Stages the task itself, the first record.
    pub(crate) fn stage_task(&mut self, task: Task) {
        self.state = task.state();
        self.updated = task.status.timestamp.unwrap_or_default();
        self.push(Record::update(1, StreamResponse::Task(task)));
    }

    /// Stages a change.
    pub(crate) fn stage(&mut self, response: StreamResponse) -> Result<(), IllegalTransition> {
        self.state = lifecycle::next_state(self.state, &response)?;
        if let StreamResponse::StatusUpdate(update) = &response {
            self.updated = update.status.timestamp.unwrap_or_else(Timestamp::now);
        }
        self.push(Record::update(self.staged() + 1, response));
        Ok(())
    }

    /// Stages a message of the client.
    pub(crate) fn stage_received(&mut self, message: Message) {
        self.push(Record::received(self.staged() + 1, message));
    }

    fn push(&mut self, record: Record) {
        self.batch.push(record);
    }

    /// Commits what is staged, shows it to the readers, and waits for those that are far behind. `release` lets go of
    /// the task.
    pub(crate) async fn commit(&mut self, release: bool) -> Result<(), Error> {
        if self.batch.is_empty() && (!release || self.released) {
            return Ok(());
        }
        let records = std::mem::replace(&mut self.batch, Vec::with_capacity(4));
        let creates = self.sequence == 0;
        let sequence = self.sequence + records.len() as u64;
        let is_long = sequence - self.snapshot_at >= SNAPSHOT_EVERY.max(self.snapshot_at);
        let snapshot = (creates || release || is_long).then(|| self.fold(&records));
        if creates && !self.state.is_terminal() {
            self.shared.registry.insert(&self.live);
        }
        let commit = Commit {
            scope: self.live.scope.clone(),
            id: self.live.id.clone(),
            context: self.live.lock().context.clone(),
            expected: self.sequence,
            epoch: self.epoch,
            records,
            state: self.state,
            updated: self.updated,
            released: release,
            snapshot,
            push_configs: std::mem::take(&mut self.push_configs),
        };
        let (records, snapshot) = (commit.records.clone(), commit.snapshot.clone());
        let committed = self.write(commit).await?;
        self.epoch = committed.epoch;
        self.sequence = sequence;
        self.released = release;
        if snapshot.is_some() {
            self.snapshot_at = sequence;
        }
        self.live.publish(&records, snapshot);
        if creates {
            self.live.lock().epoch = Some(committed.epoch);
        }
        if committed.owes_push {
            self.shared.push_wakeups.notify_one();
        }
        self.pace().await;
        Ok(())
    }

    /// The task after these records.
    fn fold(&self, records: &[Record]) -> Arc<Task> {
        let mut task = if self.sequence == 0 { Task::default() } else { Task::clone(&self.live.lock().task) };
        for record in records {
            if let Err(error) = lifecycle::apply(&mut task, record) {
                tracing::error!(task = %self.live.id, %error, "a checked record does not apply");
            }
        }
        Arc::new(task)
    }

    /// Commits, trying again for a while when the store cannot write. The first commit is not tried again: nothing has
    /// been promised yet, and the client can try again itself.
    async fn write(&self, commit: Commit) -> Result<Committed, Error> {
        if commit.expected == 0 {
            return Ok(self.shared.store.commit(commit).await?);
        }
        let begun = Instant::now();
        let mut pause = Duration::from_millis(10);
        loop {
            match self.shared.store.commit(commit.clone()).await {
                Ok(committed) => return Ok(committed),
                Err(error) if error.is_transient() && begun.elapsed() < self.shared.limits.commit_retry => {
                    tracing::warn!(task = %self.live.id, %error, "a commit failed and is tried again");
                    sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    fn lost(&self, error: StoreError) -> Error {
        tracing::error!(task = %self.live.id, error = &error as &dyn std::error::Error, "a commit failed");
        error.into()
    }

    /// Slows down for readers that are behind the window, as long as they move; then leaves the slowest behind.
    async fn pace(&self) {
        let window = self.shared.limits.window;
        while self.live.lock().kept() > window {
            let moved = poll_fn(|cx| {
                let mut inner = self.live.lock();
                if inner.kept() <= window - window / 16 {
                    return Poll::Ready(());
                }
                set_waker(&mut inner.pacer, cx);
                Poll::Pending
            });
            if timeout(self.shared.limits.slow_reader, moved).await.is_err() {
                self.live.lock().leave_behind();
            }
        }
    }
}
