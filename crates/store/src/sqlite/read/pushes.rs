//! Reads push configurations.

use nuncio_engine::{
    StoreError,
    store::{DuePush, PushConfig},
};
use nuncio_model::{Scope, TaskId, Timestamp};
use rusqlite::Connection;

use super::task;
use crate::sqlite::{
    body,
    columns::{self, from_column, to_column},
    error::store_error,
};

const DUE: &str = "SELECT tenant, caller, config, delivered, pending, attempts \
    FROM push_configs INDEXED BY push_configs_due CROSS JOIN tasks USING (task) CROSS JOIN scopes USING (scope) \
    WHERE pending > delivered AND next_attempt <= ?1 ORDER BY next_attempt, push_configs.task, push_configs.id LIMIT ?2";
const NEXT: &str = "SELECT min(next_attempt) FROM push_configs INDEXED BY push_configs_due WHERE pending > delivered";

/// The push configurations of a task, by id.
pub(in crate::sqlite) fn configs(
    connection: &Connection,
    scope: &Scope,
    id: &TaskId,
) -> Result<Option<Vec<PushConfig>>, StoreError> {
    let Some(task) = task::find(connection, scope, id, |row| Ok(row.task))? else { return Ok(None) };
    let read = || {
        let mut statement = connection
            .prepare_cached("SELECT config, format, delivered FROM push_configs WHERE task = ?1 ORDER BY id")?;
        let rows = statement.query_map([task], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect::<rusqlite::Result<Vec<(String, Option<Box<str>>, i64)>>>()
    };
    let rows = read().map_err(store_error)?.into_iter();
    let configs = rows.map(|(config, format, delivered)| {
        Ok(PushConfig { config: body::read(&config)?, format, delivered: from_column(delivered) })
    });
    configs.collect::<Result<_, StoreError>>().map(Some)
}

/// The push configurations with a delivery that is due. The longest due come first.
pub(in crate::sqlite) fn due(
    connection: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<DuePush>, StoreError> {
    let read = || {
        let mut statement = connection.prepare_cached(DUE)?;
        let rows = statement.query_map((now.as_millisecond(), to_column(limit as u64)), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        })?;
        rows.collect::<rusqlite::Result<Vec<(String, String, String, i64, i64, u32)>>>()
    };
    let rows = read().map_err(store_error)?.into_iter();
    let due = rows.map(|(tenant, caller, config, delivered, pending, attempts)| {
        Ok(DuePush {
            scope: columns::scope(tenant, &caller)?,
            config: body::read(&config)?,
            delivered: from_column(delivered),
            pending: from_column(pending),
            attempts,
        })
    });
    due.collect()
}

/// The time of the next pending delivery.
pub(in crate::sqlite) fn next(connection: &Connection) -> Result<Option<Timestamp>, StoreError> {
    let read = || {
        let mut statement = connection.prepare_cached(NEXT)?;
        statement.query_row([], |row| row.get::<_, Option<i64>>(0))
    };
    Ok(read().map_err(store_error)?.and_then(Timestamp::from_millisecond))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn due_deliveries_are_read_in_order_from_an_index() {
        let database = schema::in_memory();
        for (sql, index) in [
            (DUE, "USING INDEX push_configs_due (next_attempt<?)"),
            (NEXT, "SEARCH push_configs USING INDEX push_configs_due"),
        ] {
            let plan = schema::plan(&database, sql);
            assert!(plan[0].contains(index), "{plan:?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE") || step.contains("SCAN scopes")), "{plan:?}");
        }
    }
}
