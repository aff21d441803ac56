//! The writer thread. The thread executes one group of writes after the other, each in one transaction.

mod appends;
mod checkpoint;
mod configs;
mod deletes;
mod group;
mod heads;
mod messages;
mod prune;
mod rows;
mod scopes;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use nuncio_engine::StoreError;
use nuncio_model::{Scope, TaskId};
use rusqlite::{Connection, wal::CheckpointMode};

use self::{
    checkpoint::Checkpoints,
    group::{GroupError, GroupResult, GroupWriter},
    heads::{Head, Table},
    prune::Pruner,
};
use super::{
    cache::Cache,
    error::{is_busy, same, store_error},
    lock::Lock,
    log::Log,
    options::SqliteOptions,
    queue::{Answer, Group, Order, WriteOp, WriteOutcome, WriteOutput},
};

/// The maximum number of cached heads and scopes. Beyond this number, the caches are cleared and filled again from the
/// database.
const REMEMBERED: usize = 131_072;

/// The first key after all keys of tasks, and of deleted tasks whose records still exist.
const NEXT_TASK: &str = "SELECT 1 + max((SELECT coalesce(max(task), 0) FROM tasks), \
    (SELECT coalesce(max(task), 0) FROM deleted))";

pub(super) struct Writer {
    // Dropped before the connection. The connection is then the last connection, and closing it leaves one file.
    checkpoints: Checkpoints,
    /// The busy timeout is 0, except in the transaction of a group.
    connection: Connection,
    busy_timeout: Duration,
    log: Arc<Log>,
    epoch: u64,
    /// The key of the next task.
    next_task: i64,
    /// The heads of tasks that run in this process, so that a commit does not read the head again. The database is
    /// authoritative.
    heads: Table<TaskId, Head>,
    scopes: Table<Scope, i64>,
    pruner: Pruner,
    cache: Arc<Cache>,
    /// Whether the last group could not be written.
    is_failing: Arc<AtomicBool>,
    _lock: Lock,
}

impl Writer {
    /// Creates a writer for a database with the current schema.
    pub(super) fn new(
        mut connection: Connection,
        checkpoints: Connection,
        log: Arc<Log>,
        epoch: u64,
        cache: Arc<Cache>,
        options: &SqliteOptions,
        lock: Lock,
    ) -> rusqlite::Result<Self> {
        connection.busy_timeout(Duration::ZERO)?;
        let next_task = connection.query_row(NEXT_TASK, [], |row| row.get(0))?;
        log.listen(&mut connection)?;
        Ok(Self {
            checkpoints: Checkpoints::start(Arc::clone(&log), checkpoints),
            connection,
            busy_timeout: options.busy_timeout,
            log,
            epoch,
            next_task,
            heads: Table::default(),
            scopes: Table::default(),
            pruner: Pruner::new(options.log_retention),
            cache,
            is_failing: Arc::default(),
            _lock: lock,
        })
    }

    /// The flag that is set while the last group could not be written.
    pub(super) fn is_failing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_failing)
    }

    /// Writes until an order to stop arrives or the store is dropped.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let order = match self.pruner.rest().into_iter().chain(self.checkpoints.rest()).min() {
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(rest) => orders.recv_timeout(rest),
            };
            match order {
                Ok(Order::Write(group)) => {
                    if self.write(group) {
                        return;
                    }
                }
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.pruner.prune(&self.connection);
            self.log.settle();
            self.checkpoints.tend(&self.connection);
        }
    }

    /// Writes a group and sends the answers. Returns `true` if the group closed the store.
    fn write(&mut self, group: Group) -> bool {
        let Group { ops, since, done } = group;
        let mut outcomes = self.write_all(&ops, &since);
        if ops.iter().any(|op| matches!(op, WriteOp::EmptyLog)) {
            self.checkpoints.empty_soon();
        }
        let last = ops.iter().position(|op| matches!(op, WriteOp::Close));
        if let Some(last) = last {
            self.checkpoints.wait();
            let moved = self.connection.busy_timeout(self.busy_timeout);
            let moved = moved.and_then(|()| checkpoint::checkpoint(&self.connection, CheckpointMode::TRUNCATE));
            outcomes[last] = Some(moved.map(|_| WriteOutput::Found(true)).map_err(store_error));
        }
        let answer =
            |(op, outcome): (WriteOp, Option<WriteOutcome>)| outcome.map_or(Answer::Again(op), Answer::Outcome);
        // The caller may have dropped the receiver.
        drop(done.send(ops.into_iter().zip(outcomes).map(answer).collect()));
        last.is_some()
    }

    /// Executes all writes in one transaction. If the transaction fails, executes each write in its own transaction, so
    /// that a bad write does not fail the writes of other callers. The outcome of a write that can wait for the next
    /// group is `None`.
    fn write_all(&mut self, ops: &[WriteOp], since: &[Instant]) -> Vec<Option<WriteOutcome>> {
        let outcomes = match since.iter().min().map(|oldest| self.transact(ops, *oldest)) {
            Some(Ok(outcomes)) => outcomes.into_iter().map(Some).collect(),
            Some(Err(GroupError::NotBegun(error))) => since.iter().map(|since| self.put_off(&error, *since)).collect(),
            Some(Err(error)) if ops.len() > 1 => {
                tracing::debug!(?error, writes = ops.len(), "store: cannot write a group; its writes are tried singly");
                ops.iter().zip(since).map(|(op, since)| Some(self.write_one(op, *since))).collect()
            }
            Some(Err(error)) => vec![Some(Err(error.into()))],
            None => Vec::new(),
        };
        let is_failure = |outcome: &Option<WriteOutcome>| {
            outcome.as_ref().is_none_or(|outcome| outcome.as_ref().is_err_and(StoreError::is_transient))
        };
        self.is_failing.store(outcomes.iter().any(is_failure), Ordering::Relaxed);
        outcomes
    }

    /// The outcome of a write whose transaction could not begin. While another program has locked the database, the
    /// write waits for the next group (`None`), until its time is over.
    fn put_off(&self, error: &rusqlite::Error, since: Instant) -> Option<WriteOutcome> {
        let waits = is_busy(error) && !self.remaining_wait(since).is_zero();
        (!waits).then(|| Err(same(error)))
    }

    /// How long a write may still wait for another program, in whole milliseconds as SQLite needs.
    fn remaining_wait(&self, since: Instant) -> Duration {
        let left = self.busy_timeout.saturating_sub(since.elapsed());
        Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
    }

    fn write_one(&mut self, op: &WriteOp, since: Instant) -> WriteOutcome {
        let mut outcomes = self.transact(std::slice::from_ref(op), since)?;
        outcomes.pop().unwrap_or(Ok(WriteOutput::Found(false)))
    }

    fn transact(&mut self, ops: &[WriteOp], since: Instant) -> GroupResult<Vec<WriteOutcome>> {
        self.connection.busy_timeout(self.remaining_wait(since))?;
        let outcomes = self.transact_now(ops);
        self.connection.busy_timeout(Duration::ZERO)?;
        outcomes
    }

    fn transact_now(&mut self, ops: &[WriteOp]) -> GroupResult<Vec<WriteOutcome>> {
        self.roll_back();
        let begun = self.connection.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([]));
        begun.map_err(GroupError::NotBegun)?;
        let written = GroupWriter::new(self).write(ops);
        let (outcomes, changes) = match written {
            Ok(written) => written,
            Err(error) => {
                self.roll_back();
                return Err(error);
            }
        };
        ops.iter().flat_map(WriteOp::cached).for_each(|(_, id)| self.cache.begin_write(id));
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        self.end_writes(ops, committed.is_ok().then_some(&outcomes));
        if let Err(error) = committed {
            self.roll_back();
            return Err(error.into());
        }
        self.remember(changes);
        Ok(outcomes)
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "store: cannot roll back a transaction");
        }
    }

    /// Updates the cache. Must be called before the callers get their answers, so that a read after an answer sees the
    /// write.
    fn end_writes(&mut self, ops: &[WriteOp], outcomes: Option<&Vec<WriteOutcome>>) {
        for (number, op) in ops.iter().enumerate() {
            let is_written = outcomes.is_some_and(|outcomes| outcomes[number].is_ok());
            let append = op.as_append().filter(|_| is_written);
            for (scope, id) in op.cached() {
                self.cache.end_write(scope, id, append.and_then(|append| append.stored(self.epoch)));
            }
            self.pruner.expect_left(matches!(op, WriteOp::Delete { .. }));
            let pays = matches!(op, WriteOp::Settle(_) | WriteOp::PutConfig { .. } | WriteOp::DeleteConfig { .. });
            self.pruner.expect(pays || append.is_some_and(|append| append.released && append.records.is_some()));
        }
    }
}
