//! Reads a range of a log.

use nuncio_engine::{Record, StoreError, store::Portion};
use nuncio_model::{Scope, TaskId};
use rusqlite::Connection;

use super::task;
use crate::sqlite::{
    body,
    columns::{event_key, sequence_of},
    error::store_error,
};

/// The records after `after`, in order, as many as fit into the portion.
pub(in crate::sqlite) fn after(
    connection: &Connection,
    scope: &Scope,
    id: &TaskId,
    after: u64,
    mut portion: Portion,
) -> Result<Vec<Record>, StoreError> {
    let head = task::find(connection, scope, id, |row| Ok((row.task, row.sequence, row.context())))?;
    let Some((task, sequence, context)) = head.filter(|(_, sequence, _)| after < *sequence && portion.has_room())
    else {
        return Ok(Vec::new());
    };
    let mut records = Vec::new();
    each_after(connection, task, after, sequence, |body, last| {
        let read = body::read_records(body, last, id, &context)?.into_iter();
        records.extend(read.filter(|record| record.sequence() > after).take_while(|record| portion.takes(record)));
        Ok(portion.has_room())
    })?;
    if records.first().is_none_or(|first| first.sequence() != after + 1) {
        return Err(StoreError::Compacted);
    }
    Ok(records)
}

/// Calls `with` with the body of each row of records after `after` and the number of the last record in the row, until
/// `with` returns `false`.
pub(super) fn each_after(
    connection: &Connection,
    task: i64,
    after: u64,
    sequence: u64,
    mut with: impl FnMut(&str, u64) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT key, body FROM events WHERE key > ?1 AND key <= ?2 ORDER BY key")
        .map_err(store_error)?;
    let keys = (event_key(task, after), event_key(task, sequence));
    let mut rows = statement.query(keys).map_err(store_error)?;
    while let Some(row) = rows.next().map_err(store_error)? {
        let key = row.get(0).map_err(store_error)?;
        let body = row.get_ref(1).and_then(|body| Ok(body.as_str()?)).map_err(store_error)?;
        if !with(body, sequence_of(key))? {
            break;
        }
    }
    Ok(())
}
