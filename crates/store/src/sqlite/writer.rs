//! The thread that writes: one group after the other, each in one transaction.

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
    time::Duration,
};

use nuncio_engine::StoreError;
use nuncio_model::{Scope, TaskId};
use rusqlite::{Connection, wal::CheckpointMode};

use self::{
    checkpoint::Checkpoints,
    group::{GroupWriter, Written},
    heads::{Head, Table},
    prune::Pruner,
};
use super::{
    cache::Cache,
    error::store_error,
    lock::Lock,
    log::Log,
    queue::{Done, Group, Op, Order, Outcome},
};

/// Heads and scopes that are remembered, at most; beyond it all are forgotten and read again.
const REMEMBERED: usize = 131_072;

/// The first key beyond all that are in use, or were and have left records.
const NEXT_TASK: &str = "SELECT 1 + max((SELECT coalesce(max(task), 0) FROM tasks), \
    (SELECT coalesce(max(task), 0) FROM deleted))";

pub(super) struct Writer {
    // Ends before the connection does, which then is the last one and leaves one file.
    checkpoints: Checkpoints,
    connection: Connection,
    log: Arc<Log>,
    epoch: u64,
    /// The next task's key.
    next_task: i64,
    /// Tasks that run here: what would be read again at each commit otherwise. The database is what counts.
    heads: Table<TaskId, Head>,
    scopes: Table<Scope, i64>,
    pruner: Pruner,
    cache: Arc<Cache>,
    /// Whether the last group could not be written.
    is_failing: Arc<AtomicBool>,
    _lock: Lock,
}

impl Writer {
    /// Writes to a database whose schema is the present one.
    pub(super) fn new(
        mut connection: Connection,
        checkpoints: Connection,
        log: Arc<Log>,
        epoch: u64,
        cache: Arc<Cache>,
        log_retention: Duration,
        lock: Lock,
    ) -> rusqlite::Result<Self> {
        let next_task = connection.query_row(NEXT_TASK, [], |row| row.get(0))?;
        log.listen(&mut connection)?;
        Ok(Self {
            checkpoints: Checkpoints::start(Arc::clone(&log), checkpoints),
            connection,
            log,
            epoch,
            next_task,
            heads: Table::default(),
            scopes: Table::default(),
            pruner: Pruner::new(log_retention),
            cache,
            is_failing: Arc::default(),
            _lock: lock,
        })
    }

    /// Is set while the last group could not be written.
    pub(super) fn is_failing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_failing)
    }

    /// Writes until it is told to stop, or nobody is left who could.
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

    /// Writes a group and answers; `true` when it closed the store.
    fn write(&mut self, group: Group) -> bool {
        let mut outcomes = self.write_all(&group.ops);
        if group.ops.iter().any(|op| matches!(op, Op::EmptyLog)) {
            self.checkpoints.empty_soon();
        }
        let last = group.ops.iter().position(|op| matches!(op, Op::Close));
        if let Some(last) = last {
            self.checkpoints.wait();
            let moved = checkpoint::checkpoint(&self.connection, CheckpointMode::TRUNCATE);
            outcomes[last] = moved.map(|_| Done::Found(true)).map_err(store_error);
        }
        // Whoever dropped the receiver does not want to know.
        drop(group.done.send(outcomes));
        last.is_some()
    }

    /// All in one transaction; when that fails each in its own, so that one bad write fails nobody else's.
    fn write_all(&mut self, ops: &[Op]) -> Vec<Outcome> {
        let outcomes = match self.transact(ops) {
            Ok(outcomes) => outcomes,
            Err(error) if ops.len() > 1 => {
                tracing::debug!(?error, writes = ops.len(), "a group could not be written and is tried one by one");
                ops.iter().map(|op| self.write_one(op)).collect()
            }
            Err(error) => vec![Err(error.into())],
        };
        let is_failing = outcomes.iter().any(|outcome| outcome.as_ref().is_err_and(StoreError::is_transient));
        self.is_failing.store(is_failing, Ordering::Relaxed);
        outcomes
    }

    fn write_one(&mut self, op: &Op) -> Outcome {
        let mut outcomes = self.transact(std::slice::from_ref(op))?;
        outcomes.pop().unwrap_or(Ok(Done::Found(false)))
    }

    fn transact(&mut self, ops: &[Op]) -> Written<Vec<Outcome>> {
        self.roll_back();
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let written = GroupWriter::new(self).write(ops);
        let (outcomes, changes) = match written {
            Ok(written) => written,
            Err(error) => {
                self.roll_back();
                return Err(error);
            }
        };
        ops.iter().flat_map(Op::cached).for_each(|(_, id)| self.cache.begin_write(id));
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
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }

    /// Readers of the cache see what was written before anybody is told that it was.
    fn end_writes(&mut self, ops: &[Op], outcomes: Option<&Vec<Outcome>>) {
        for (number, op) in ops.iter().enumerate() {
            let is_written = outcomes.is_some_and(|outcomes| outcomes[number].is_ok());
            let append = op.as_append().filter(|_| is_written);
            for (scope, id) in op.cached() {
                self.cache.end_write(scope, id, append.and_then(|append| append.stored(self.epoch)));
            }
            self.pruner.expect_left(matches!(op, Op::Delete { .. }));
            let pays = matches!(op, Op::Settle(_) | Op::DeleteConfig { .. });
            self.pruner.expect(pays || append.is_some_and(|append| append.released && append.records.is_some()));
        }
    }
}
