//! Deletes the logs of ended tasks after the retention time, and the remaining records of deleted tasks.

use std::time::{Duration, Instant};

use nuncio_model::Timestamp;
use rusqlite::Connection;

use super::deletes;
use crate::sqlite::{
    columns::{event_key, from_column},
    queue::Removed,
};

/// The maximum number of record rows that one write deletes. Other writes wait about one millisecond for such a write.
pub(super) const RECORDS: usize = 256;

/// The maximum number of record bytes that one write deletes, unless a single row is larger. Each page of the deleted
/// records is overwritten.
const BYTES: i64 = 1024 * 1024;

/// The maximum number of tasks per write.
const TASKS: usize = 16;

/// The minimum and maximum pause when no log can be deleted yet. The maximum limits the effect of clock changes.
const REST: [Duration; 2] = [Duration::from_millis(100), Duration::from_mins(1)];

pub(super) struct Pruner {
    retention: Duration,
    /// Whether a log may exist that must be deleted later.
    expects: bool,
    /// Whether a deleted task may have remaining records.
    sweeps: bool,
    rests_until: Instant,
}

impl Pruner {
    pub(super) fn new(retention: Duration) -> Self {
        Self { retention, expects: true, sweeps: true, rests_until: Instant::now() }
    }

    /// The time until the next call of [`prune`](Self::prune) is needed without a write; `None` if no call is needed.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.expects.then(|| self.rests_until.saturating_duration_since(Instant::now()))
    }

    /// Notes that a write may have released a log.
    pub(super) fn expect(&mut self, expects: bool) {
        self.expects |= expects;
    }

    /// Notes that tasks were deleted.
    pub(super) fn expect_left(&mut self, left: bool) {
        if left {
            (self.expects, self.sweeps, self.rests_until) = (true, true, Instant::now());
        }
    }

    /// Deletes a few rows, if the pause is over.
    pub(super) fn prune(&mut self, connection: &Connection) {
        if !self.expects || Instant::now() < self.rests_until {
            return;
        }
        let rest = self.drop_some(connection).unwrap_or_else(|error| {
            tracing::debug!(%error, "store: cannot delete the logs of ended tasks; trying again later");
            REST[1]
        });
        self.rests_until = Instant::now() + rest;
        if !connection.is_autocommit() {
            drop(connection.execute_batch("ROLLBACK"));
        }
    }

    /// Deletes a few rows. Returns the pause until the next rows can be deleted.
    fn drop_some(&mut self, connection: &Connection) -> rusqlite::Result<Duration> {
        if self.sweeps {
            let swept = transact(connection, deletes::sweep)?;
            self.sweeps = swept != Removed::default();
            return Ok(Duration::ZERO);
        }
        let retention = i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::now().as_millisecond().saturating_sub(retention).saturating_add(1);
        let oldest = connection
            .prepare_cached("SELECT min(released) FROM tasks INDEXED BY tasks_released WHERE released IS NOT NULL")?
            .query_row([], |row| row.get::<_, Option<i64>>(0))?;
        match oldest {
            None => {
                self.expects = false;
                Ok(Duration::ZERO)
            }
            Some(oldest) if oldest >= before => {
                Ok(Duration::from_millis(oldest.abs_diff(before) + 1).clamp(REST[0], REST[1]))
            }
            Some(_) => transact(connection, |connection| drop_logs(connection, before, TASKS)).map(|_| Duration::ZERO),
        }
    }
}

fn transact<T>(connection: &Connection, write: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let written = write(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(written)
}

/// Deletes records of tasks that were released before a time, at most as many as one write may delete. Logs with
/// pending deliveries stay, and are marked as not released.
pub(super) fn drop_logs(connection: &Connection, before: i64, limit: usize) -> rusqlite::Result<Removed> {
    let mut oldest = connection.prepare_cached(
        "SELECT task, folded FROM tasks INDEXED BY tasks_released WHERE released IS NOT NULL AND released < ?1 \
         ORDER BY released LIMIT ?2",
    )?;
    let limit = i64::try_from(limit.min(TASKS)).unwrap_or(i64::MAX);
    let found = oldest.query_map((before, limit), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let tasks: Vec<(i64, i64)> = found.collect::<rusqlite::Result<_>>()?;
    let mut removed = Removed::default();
    for (task, folded) in tasks {
        let left = RECORDS.saturating_sub(removed.rows);
        if left == 0 {
            break;
        }
        let has_pending = has_pending(connection, task)?;
        if !has_pending {
            let (dropped, is_whole) = drop_records(connection, task, from_column(folded), left)?;
            removed.rows += dropped;
            if !is_whole {
                break;
            }
            removed.tasks += 1;
        }
        connection.prepare_cached("UPDATE tasks SET released = NULL WHERE task = ?1")?.execute([task])?;
    }
    Ok(removed)
}

/// Whether a push configuration of the task has pending records.
pub(super) fn has_pending(connection: &Connection, task: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM push_configs WHERE task = ?1 AND pending > delivered)")?
        .query_row([task], |row| row.get(0))
}

/// Deletes the records of a task up to the number `last`, but at most `limit` rows. Returns the number of rows, and
/// whether all of these records were deleted.
pub(super) fn drop_records(
    connection: &Connection,
    task: i64,
    last: u64,
    limit: usize,
) -> rusqlite::Result<(usize, bool)> {
    let keys = (event_key(task, 0), event_key(task, last));
    let mut statement = connection
        .prepare_cached("SELECT key, octet_length(body) FROM events WHERE key BETWEEN ?1 AND ?2 ORDER BY key")?;
    let mut rows = statement.query(keys)?;
    let (mut found, mut bytes, mut until, mut is_whole) = (0, 0, None, true);
    while let Some(row) = rows.next()? {
        if found == limit || bytes >= BYTES {
            is_whole = false;
            break;
        }
        found += 1;
        bytes += row.get::<_, i64>(1)?;
        until = Some(row.get::<_, i64>(0)?);
    }
    drop(rows);
    if let Some(until) = until {
        connection.prepare_cached("DELETE FROM events WHERE key BETWEEN ?1 AND ?2")?.execute((keys.0, until))?;
    }
    Ok((found, is_whole))
}
