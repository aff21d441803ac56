//! Drops the logs of tasks that are over, some time after: their snapshots say what became of them.

use std::time::{Duration, Instant};

use nuncio_model::Timestamp;
use rusqlite::Connection;

use super::configs::covered;

/// Rows of records that are dropped at a time: writes wait for it, about a millisecond.
const BATCH: usize = 256;

/// How long it rests when nothing may go yet, at least and at most: clocks jump.
const REST: [Duration; 2] = [Duration::from_millis(100), Duration::from_mins(1)];

pub(super) struct Pruner {
    retention: Duration,
    /// Whether a log may be there that will have to go.
    expects: bool,
    rests_until: Instant,
}

impl Pruner {
    pub(super) fn new(retention: Duration) -> Self {
        Self { retention, expects: true, rests_until: Instant::now() }
    }

    /// How long it has nothing to do unless something is written; `None` for ever.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.expects.then(|| self.rests_until.saturating_duration_since(Instant::now()))
    }

    /// Takes note that something was written that may have to go.
    pub(super) fn expect(&mut self, expects: bool) {
        self.expects |= expects;
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
        let retention = i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX);
        let released_before = Timestamp::now().as_millisecond().saturating_sub(retention);
        let mut oldest = connection.prepare_cached(
            "SELECT task, folded, released FROM tasks INDEXED BY tasks_released WHERE released IS NOT NULL \
             ORDER BY released LIMIT 16",
        )?;
        let found = oldest.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?)))?;
        let tasks: Vec<(i64, i64, i64)> = found.collect::<rusqlite::Result<_>>()?;
        let Some((.., oldest)) = tasks.first() else {
            self.expects = false;
            return Ok(Duration::ZERO);
        };
        if *oldest > released_before {
            let rest = Duration::from_millis(oldest.abs_diff(released_before));
            return Ok(rest.clamp(REST[0], REST[1]));
        }
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut left = BATCH;
        for (task, folded, _) in tasks.iter().filter(|(.., released)| *released <= released_before) {
            left -= drop_log(connection, *task, *folded, left)?;
            if left == 0 {
                break;
            }
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(Duration::ZERO)
    }
}

/// Drops at most so many rows of a log, unless they are owed to somebody after all. Gives how many it dropped.
fn drop_log(connection: &Connection, task: i64, folded: i64, limit: usize) -> rusqlite::Result<usize> {
    let is_owed: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM push_configs WHERE task = ?1 AND owed > delivered)")?
        .query_row([task], |row| row.get(0))?;
    let mut dropped = 0;
    if !is_owed {
        let (first, last) = covered(task, folded);
        dropped = connection
            .prepare_cached(
                "DELETE FROM events WHERE key IN \
                 (SELECT key FROM events WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3)",
            )?
            .execute((first, last, i64::try_from(limit).unwrap_or(i64::MAX)))?;
    }
    if dropped < limit {
        connection.prepare_cached("UPDATE tasks SET released = NULL WHERE task = ?1")?.execute([task])?;
    }
    Ok(dropped)
}
