//! Deletes tasks and their records. Each write takes about one millisecond, so that other writes do not wait long.

use nuncio_engine::store::Purge;
use nuncio_model::{TaskState, Timestamp};
use rusqlite::{Connection, OptionalExtension as _};

use super::{
    group::{GroupResult, GroupWriter},
    prune::{self, RECORDS},
};
use crate::sqlite::{
    columns::Moment,
    queue::{Candidate, Removed},
};

/// The columns of a task that its deletion needs.
struct TaskToDelete {
    id: String,
    scope: i64,
    state: TaskState,
    updated: Moment,
    running: bool,
    pushed: bool,
    is_big: bool,
}

impl GroupWriter<'_, '_> {
    /// Deletes the rows of tasks. The records are also deleted if they are few, otherwise by [`sweep`](Self::sweep).
    pub(super) fn delete(&mut self, tasks: &[Candidate], purge: Option<&Purge>) -> GroupResult<Removed> {
        self.flush()?;
        let mut removed = Removed::default();
        for candidate in tasks {
            let connection = &self.writer.connection;
            let found = find(connection, candidate.task)?.filter(|found| *found.id == *candidate.id.as_str());
            let Some(found) = found else { continue };
            if let Some(purge) = purge
                && !meets_purge(connection, purge, candidate.task, &found)?
            {
                continue;
            }
            let left = RECORDS.saturating_sub(removed.rows);
            removed.rows += delete_rows(connection, candidate.task, &found, left)?;
            removed.tasks += 1;
            self.count(found.scope, found.state, -1);
            self.changes.heads.remove(&candidate.id);
            self.changes.gone.insert(candidate.id.clone());
            self.changes.gone_scopes.insert(candidate.scope.clone(), found.scope);
        }
        Ok(removed)
    }

    /// Deletes remaining records of deleted tasks, at most as many as one write may delete.
    pub(super) fn sweep(&self) -> rusqlite::Result<Removed> {
        sweep(&self.writer.connection)
    }

    /// Deletes records of tasks that were released before a time, at most as many as one write may delete.
    pub(super) fn compact(&self, before: Timestamp, limit: usize) -> rusqlite::Result<Removed> {
        prune::drop_logs(&self.writer.connection, before.as_millisecond(), limit)
    }

    /// Deletes the scopes that have lost their last task, because the names in a scope are personal data.
    pub(super) fn drop_empty_scopes(&mut self) -> rusqlite::Result<()> {
        let connection = &self.writer.connection;
        let mut emptied = rusqlite::Result::Ok(());
        self.changes.gone_scopes.retain(|_, key| {
            let is_empty = emptied.is_ok().then(|| drop_scope_if_empty(connection, *key));
            is_empty.is_some_and(|is_empty| {
                is_empty.unwrap_or_else(|error| {
                    emptied = Err(error);
                    false
                })
            })
        });
        emptied
    }
}

/// Deletes remaining records of deleted tasks, at most as many as one write may delete.
pub(super) fn sweep(connection: &Connection) -> rusqlite::Result<Removed> {
    let mut removed = Removed::default();
    while removed.rows < RECORDS {
        let next = connection
            .prepare_cached("SELECT task FROM deleted ORDER BY task LIMIT 1")?
            .query_row([], |row| row.get(0))
            .optional()?;
        let Some(task) = next else { break };
        let left = RECORDS - removed.rows;
        let (dropped, is_whole) = prune::drop_records(connection, task, u64::MAX, left)?;
        removed.rows += dropped;
        if !is_whole {
            break;
        }
        connection.prepare_cached("DELETE FROM deleted WHERE task = ?1")?.execute([task])?;
        removed.tasks += 1;
    }
    Ok(removed)
}

fn find(connection: &Connection, task: i64) -> rusqlite::Result<Option<TaskToDelete>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, scope, state, updated, updated_rest, running, pushed, body IS NULL FROM tasks WHERE task = ?1",
    )?;
    statement
        .query_row([task], |row| {
            Ok(TaskToDelete {
                id: row.get(0)?,
                scope: row.get(1)?,
                state: TaskState::from_number(row.get(2)?).unwrap_or_default(),
                updated: Moment { millisecond: row.get(3)?, rest: row.get(4)? },
                running: row.get(5)?,
                pushed: row.get(6)?,
                is_big: row.get(7)?,
            })
        })
        .optional()
}

/// Whether a task still meets the conditions of the purge. The task may have changed since the search.
fn meets_purge(connection: &Connection, purge: &Purge, task: i64, found: &TaskToDelete) -> rusqlite::Result<bool> {
    let is_old = found.updated < Moment::from(purge.before) && purge.states.contains(&found.state);
    Ok(is_old && !found.running && !(found.pushed && prune::has_pending(connection, task)?))
}

/// Deletes the rows of a task, including up to `records` rows of records. Returns the number of deleted rows of
/// records.
fn delete_rows(connection: &Connection, task: i64, found: &TaskToDelete, records: usize) -> rusqlite::Result<usize> {
    let delete = |sql| connection.prepare_cached(sql)?.execute([task]);
    delete("DELETE FROM tasks WHERE task = ?1")?;
    if found.is_big {
        delete("DELETE FROM bodies WHERE task = ?1")?;
    }
    if found.pushed {
        delete("DELETE FROM push_configs WHERE task = ?1")?;
    }
    let (dropped, is_whole) = prune::drop_records(connection, task, u64::MAX, records)?;
    if !is_whole {
        delete("INSERT INTO deleted (task) VALUES (?1)")?;
    }
    Ok(dropped)
}

fn drop_scope_if_empty(connection: &Connection, scope: i64) -> rusqlite::Result<bool> {
    let is_empty = connection
        .prepare_cached("SELECT NOT EXISTS (SELECT 1 FROM tasks INDEXED BY tasks_by_state WHERE scope = ?1)")?
        .query_row([scope], |row| row.get(0))?;
    if is_empty {
        connection.prepare_cached("DELETE FROM totals WHERE scope = ?1")?.execute([scope])?;
        connection.prepare_cached("DELETE FROM scopes WHERE scope = ?1")?.execute([scope])?;
    }
    Ok(is_empty)
}
