//! Reads a task: its last snapshot, and the records after it.

use std::sync::Arc;

use nuncio_engine::{StoreError, lifecycle, store::Stored};
use nuncio_model::{ContextId, Scope, Task, TaskId};
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::events;
use crate::sqlite::{
    body,
    columns::{self, from_column},
    error::{corrupt, store_error},
};

/// A task, and how long it is as JSON.
pub(in crate::sqlite) struct Loaded {
    pub(in crate::sqlite) stored: Stored,
    pub(in crate::sqlite) json: usize,
}

/// A row of `tasks` with its body.
pub(super) struct TaskRow {
    pub(super) task: i64,
    id: TaskId,
    pub(super) context: ContextId,
    pub(super) sequence: u64,
    epoch: u64,
    folded: u64,
    body: Option<String>,
    artifacts: Option<String>,
}

/// The columns of a [`TaskRow`], to which the artifacts are added where they are wanted.
const COLUMNS: &str = "task, id, context, sequence, epoch, folded, body";

impl TaskRow {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            task: row.get(0)?,
            id: row.get::<_, String>(1)?.into(),
            context: row.get::<_, String>(2)?.into(),
            sequence: from_column(row.get(3)?),
            epoch: from_column(row.get(4)?),
            folded: from_column(row.get(5)?),
            body: row.get(6)?,
            artifacts: row.get(7)?,
        })
    }
}

/// The row of a task of this scope.
pub(super) fn find(connection: &Connection, scope: &Scope, id: &TaskId) -> Result<Option<TaskRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, artifacts FROM tasks JOIN scopes USING (scope) \
         WHERE id = ?1 AND tenant = ?2 AND caller = ?3"
    );
    let caller = columns::caller(&scope.principal)?;
    let mut statement = connection.prepare_cached(&sql).map_err(store_error)?;
    let row = statement.query_row((id.as_str(), scope.tenant.as_str(), caller), TaskRow::of);
    row.optional().map_err(store_error)
}

/// The row of a task that is known to be there.
pub(super) fn get(connection: &Connection, task: i64, artifacts: bool) -> Result<TaskRow, StoreError> {
    let artifacts = if artifacts { "artifacts" } else { "NULL" };
    let sql = format!("SELECT {COLUMNS}, {artifacts} FROM tasks WHERE task = ?1");
    let mut statement = connection.prepare_cached(&sql).map_err(store_error)?;
    statement.query_row([task], TaskRow::of).map_err(store_error)
}

/// A task of this scope as of its last record.
pub(in crate::sqlite) fn load(
    connection: &Connection,
    scope: &Scope,
    id: &TaskId,
) -> Result<Option<Loaded>, StoreError> {
    find(connection, scope, id)?.map(|row| fold(connection, row, true)).transpose()
}

/// Makes the task of a row. Without artifacts it has none, unless records after the snapshot brought some.
pub(super) fn fold(connection: &Connection, row: TaskRow, artifacts: bool) -> Result<Loaded, StoreError> {
    let (body, artifacts) = match row.body {
        Some(body) => (Some(body), row.artifacts),
        None => big_body(connection, row.task, artifacts)?,
    };
    let mut json = body.as_ref().map_or(0, String::len) + artifacts.as_ref().map_or(0, String::len);
    let mut task = match body {
        Some(body) => body::read_task(row.id, row.context.clone(), &body, artifacts.as_deref())?,
        None => Task { id: row.id, ..Task::default() },
    };
    if row.folded < row.sequence {
        let id = task.id.clone();
        if row.folded == 0 {
            task.id = TaskId::default();
        }
        events::each_after(connection, row.task, row.folded, row.sequence, |body, last| {
            json += body.len();
            for record in body::read_records(body, last, &id, &row.context)? {
                lifecycle::apply(&mut task, &record).map_err(corrupt)?;
            }
            Ok(true)
        })?;
    }
    Ok(Loaded { stored: Stored { task: Arc::new(task), sequence: row.sequence, epoch: row.epoch }, json })
}

type BigBody = (Option<String>, Option<String>);

fn big_body(connection: &Connection, task: i64, artifacts: bool) -> Result<BigBody, StoreError> {
    let artifacts = if artifacts { "artifacts" } else { "NULL" };
    let sql = format!("SELECT body, {artifacts} FROM bodies WHERE task = ?1");
    let mut statement = connection.prepare_cached(&sql).map_err(store_error)?;
    let found = statement.query_row([task], |row| Ok((row.get(0)?, row.get(1)?))).optional();
    Ok(found.map_err(store_error)?.unwrap_or_default())
}
