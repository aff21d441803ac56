//! Drops the logs of tasks that are over, some time after, and what deleted tasks have left.

use std::time::{Duration, Instant};

use nuncio_model::Timestamp;
use rusqlite::Connection;

use super::deletes;
use crate::sqlite::{
    columns::{event_key, from_column},
    queue::Removed,
};

/// Rows of records that are dropped at a time: writes wait for it, about a millisecond.
pub(super) const RECORDS: usize = 256;

/// Bytes of records that are dropped at a time, unless a single row has more: each page of them is written over.
const BYTES: i64 = 1024 * 1024;

/// Tasks that are looked at in one go.
const TASKS: usize = 16;

/// How long it rests when nothing may go yet, at least and at most: clocks jump.
const REST: [Duration; 2] = [Duration::from_millis(100), Duration::from_mins(1)];

pub(super) struct Pruner {
    retention: Duration,
    /// Whether a log may be there that will have to go.
    expects: bool,
    /// Whether a task may have been deleted that has left records.
    sweeps: bool,
    rests_until: Instant,
}

impl Pruner {
    pub(super) fn new(retention: Duration) -> Self {
        Self { retention, expects: true, sweeps: true, rests_until: Instant::now() }
    }

    /// How long it has nothing to do unless something is written; `None` for ever.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.expects.then(|| self.rests_until.saturating_duration_since(Instant::now()))
    }

    /// Takes note that something was written that may have to go.
    pub(super) fn expect(&mut self, expects: bool) {
        self.expects |= expects;
    }

    /// Takes note that tasks were deleted.
    pub(super) fn expect_left(&mut self, left: bool) {
        if left {
            (self.expects, self.sweeps, self.rests_until) = (true, true, Instant::now());
        }
    }

    /// Drops a few rows, if it is time for that.
    pub(super) fn prune(&mut self, connection: &Connection) {
        if !self.expects || Instant::now() < self.rests_until {
            return;
        }
        let rest = self.drop_some(connection).unwrap_or_else(|error| {
            tracing::debug!(%error, "logs of tasks that are over could not be dropped");
            REST[1]
        });
        self.rests_until = Instant::now() + rest;
        if !connection.is_autocommit() {
            drop(connection.execute_batch("ROLLBACK"));
        }
    }

    /// Gives how long nothing more will have to go.
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

/// Drops records of tasks that were let go of before a time, as many as a write may. Logs that are owed to somebody
/// after all stay, and are no longer looked for.
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
        let is_owed = is_owed(connection, task)?;
        if !is_owed {
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

/// Whether a push configuration of the task is owed records.
pub(super) fn is_owed(connection: &Connection, task: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM push_configs WHERE task = ?1 AND owed > delivered)")?
        .query_row([task], |row| row.get(0))
}

/// Drops the records of a task up to this one, but at most so many rows. How many rows, and whether that were all.
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
