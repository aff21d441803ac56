//! Reads a task: its last snapshot and the records after the snapshot.

use std::sync::Arc;

use nuncio_engine::{StoreError, lifecycle, store::Stored};
use nuncio_model::{ContextId, Scope, Task, TaskId};
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use super::events;
use crate::sqlite::{
    body,
    columns::{self, from_column},
    error::{corrupt, store_error},
};

/// A task and its length in bytes of JSON.
pub(in crate::sqlite) struct Loaded {
    pub(in crate::sqlite) stored: Stored,
    pub(in crate::sqlite) json: usize,
}

/// The result of reading only the row of a task.
pub(in crate::sqlite) enum RowLoad {
    /// The task does not exist.
    Missing,
    /// The row contains the whole task.
    Whole(Loaded),
    /// The body or later records of the task are in other tables.
    Part,
}

/// The numbers of the last records of these tasks, in the same order.
pub(in crate::sqlite) fn sequences(
    connection: &Connection,
    tasks: &[(Scope, TaskId)],
) -> Result<Vec<Option<u64>>, StoreError> {
    let sequence = |(scope, id): &(Scope, TaskId)| find(connection, scope, id, |row| Ok(row.sequence));
    tasks.iter().map(sequence).collect()
}

/// A row of `tasks`, borrowed from SQLite.
pub(super) struct TaskRow<'a> {
    pub(super) task: i64,
    pub(super) sequence: u64,
    epoch: u64,
    folded: u64,
    context: &'a str,
    body: Option<&'a str>,
    artifacts: Option<&'a str>,
}

macro_rules! columns {
    ($artifacts:literal) => {
        concat!("task, sequence, epoch, folded, context, body, ", $artifacts)
    };
}

const FIND: &str = concat!(
    "SELECT ",
    columns!("artifacts"),
    " FROM tasks JOIN scopes USING (scope) WHERE id = ?1 AND tenant = ?2 AND caller = ?3"
);
const GET: &str = concat!("SELECT ", columns!("artifacts"), " FROM tasks WHERE task = ?1");
const GET_WITHOUT_ARTIFACTS: &str = concat!("SELECT ", columns!("NULL"), " FROM tasks WHERE task = ?1");

impl<'a> TaskRow<'a> {
    fn of(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        let text = |column| row.get_ref(column).and_then(|text| Ok(text.as_str_or_null()?));
        Ok(Self {
            task: row.get(0)?,
            sequence: from_column(row.get(1)?),
            epoch: from_column(row.get(2)?),
            folded: from_column(row.get(3)?),
            context: text(4)?.unwrap_or_default(),
            body: text(5)?,
            artifacts: text(6)?,
        })
    }

    pub(super) fn context(&self) -> ContextId {
        self.context.into()
    }

    /// Whether the row contains the whole task: its body, and no later records exist.
    fn is_whole(&self) -> bool {
        self.body.is_some() && self.folded == self.sequence
    }
}

/// Calls `look` with the row of a task, if the task exists in this scope.
pub(super) fn find<R>(
    connection: &Connection,
    scope: &Scope,
    id: &TaskId,
    look: impl FnOnce(TaskRow<'_>) -> Result<R, StoreError>,
) -> Result<Option<R>, StoreError> {
    let caller = columns::caller(&scope.principal)?;
    look_at(connection, FIND, (id.as_str(), scope.tenant.as_str(), caller), look)
}

/// Calls `look` with the first row of a statement.
fn look_at<R>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    look: impl FnOnce(TaskRow<'_>) -> Result<R, StoreError>,
) -> Result<Option<R>, StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
    let mut rows = statement.query(values).map_err(store_error)?;
    let row = rows.next().map_err(store_error)?;
    row.map(|row| TaskRow::of(row).map_err(store_error).and_then(look)).transpose()
}

/// Loads a task of this scope, with all of its records applied.
pub(in crate::sqlite) fn load(
    connection: &Connection,
    scope: &Scope,
    id: &TaskId,
) -> Result<Option<Loaded>, StoreError> {
    Ok(find(connection, scope, id, |row| fold(connection, &row, id, true, usize::MAX))?.flatten())
}

/// Like [`load`], but reads only the row of the task.
pub(in crate::sqlite) fn load_from_row(
    connection: &Connection,
    scope: &Scope,
    id: &TaskId,
) -> Result<RowLoad, StoreError> {
    let loaded = find(connection, scope, id, |row| {
        if !row.is_whole() {
            return Ok(RowLoad::Part);
        }
        Ok(fold(connection, &row, id, true, usize::MAX)?.map_or(RowLoad::Part, RowLoad::Whole))
    });
    Ok(loaded?.unwrap_or(RowLoad::Missing))
}

/// Loads a task that an index contains; `None` if the task is longer than `most` bytes.
pub(super) fn get(
    connection: &Connection,
    task: i64,
    id: &TaskId,
    artifacts: bool,
    most: usize,
) -> Result<Option<Loaded>, StoreError> {
    let sql = if artifacts { GET } else { GET_WITHOUT_ARTIFACTS };
    let found = look_at(connection, sql, [task], |row| fold(connection, &row, id, artifacts, most))?;
    found.ok_or_else(|| corrupt("an index entry refers to a missing task"))
}

/// Builds the task of a row; `None` if the task is longer than `most` bytes. If `artifacts` is false, the task contains
/// only the artifacts of records after the snapshot.
fn fold(
    connection: &Connection,
    row: &TaskRow<'_>,
    id: &TaskId,
    artifacts: bool,
    most: usize,
) -> Result<Option<Loaded>, StoreError> {
    let context = row.context();
    let (mut task, mut json) = match row.body {
        Some(body) => snapshot(id, &context, body, row.artifacts)?,
        None if most < usize::MAX && length_of_big(connection, row.task, artifacts)? > most => return Ok(None),
        None => big_snapshot(connection, row.task, id, &context, artifacts)?,
    };
    if json <= most && row.folded < row.sequence {
        if row.folded == 0 {
            task.id = TaskId::default();
        }
        events::each_after(connection, row.task, row.folded, row.sequence, |body, last| {
            json += body.len();
            if json > most {
                return Ok(false);
            }
            for record in body::read_records(body, last, id, &context)? {
                lifecycle::apply(&mut task, &record).map_err(corrupt)?;
            }
            Ok(true)
        })?;
    }
    let stored = Stored { task: Arc::new(task), sequence: row.sequence, epoch: row.epoch };
    Ok((json <= most).then_some(Loaded { stored, json }))
}

/// The length of a snapshot that is too large for its row. SQLite returns the length without reading the snapshot.
fn length_of_big(connection: &Connection, task: i64, artifacts: bool) -> Result<usize, StoreError> {
    let sql = if artifacts {
        "SELECT octet_length(body) + ifnull(octet_length(artifacts), 0) FROM bodies WHERE task = ?1"
    } else {
        "SELECT octet_length(body) FROM bodies WHERE task = ?1"
    };
    let mut statement = connection.prepare_cached(sql).map_err(store_error)?;
    let length = statement.query_row([task], |row| row.get::<_, i64>(0)).optional().map_err(store_error)?;
    Ok(length.map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX)))
}

/// The task in a snapshot, and the length of the snapshot.
fn snapshot(
    id: &TaskId,
    context: &ContextId,
    body: &str,
    artifacts: Option<&str>,
) -> Result<(Task, usize), StoreError> {
    let task = body::read_task(id.clone(), context.clone(), body, artifacts)?;
    Ok((task, body.len() + artifacts.map_or(0, str::len)))
}

/// The task in a snapshot that is too large for its row. Without such a snapshot, an empty task.
fn big_snapshot(
    connection: &Connection,
    task: i64,
    id: &TaskId,
    context: &ContextId,
    artifacts: bool,
) -> Result<(Task, usize), StoreError> {
    let artifacts = if artifacts { "artifacts" } else { "NULL" };
    let sql = format!("SELECT body, {artifacts} FROM bodies WHERE task = ?1");
    let mut statement = connection.prepare_cached(&sql).map_err(store_error)?;
    let mut rows = statement.query([task]).map_err(store_error)?;
    let Some(row) = rows.next().map_err(store_error)? else {
        return Ok((Task { id: id.clone(), ..Task::default() }, 0));
    };
    let body = row.get_ref(0).and_then(|body| Ok(body.as_str()?)).map_err(store_error)?;
    let artifacts = row.get_ref(1).and_then(|artifacts| Ok(artifacts.as_str_or_null()?)).map_err(store_error)?;
    snapshot(id, context, body, artifacts)
}
