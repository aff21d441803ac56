//! Counts tasks per scope.

use nuncio_engine::StoreError;
use rusqlite::Connection;

use crate::{
    owners::{Owner, Which},
    sqlite::{
        SqliteStore,
        columns::{from_column, scope},
        error::store_error,
    },
};

const ALL: &str = "SELECT tenant, caller, sum(tasks) FROM totals JOIN scopes USING (scope) WHERE ?1 IS NULL \
                   GROUP BY scope HAVING sum(tasks) > 0";
/// Reads the index, one scope after the other.
const OF_CONTEXT: &str = "SELECT tenant, caller, (SELECT count(*) FROM tasks INDEXED BY tasks_by_context \
                          WHERE scope = scopes.scope AND context = ?1) AS found FROM scopes WHERE found > 0";
const OF_TASK: &str = "SELECT tenant, caller, 1 FROM tasks JOIN scopes USING (scope) WHERE id = ?1";

impl SqliteStore {
    /// Counts tasks per scope without reading the tasks. For all tasks, the query reads stored counters. For a context,
    /// the query reads an index once per scope. For one task, the query reads one row.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn owners(&self, which: Which<'_>) -> Result<Vec<Owner>, StoreError> {
        let (sql, id) = match which {
            Which::All => (ALL, None),
            Which::Context(id) => (OF_CONTEXT, Some(id.as_str().to_owned())),
            Which::Task(id) => (OF_TASK, Some(id.as_str().to_owned())),
        };
        self.readers.read(move |connection| owners(connection, sql, id.as_deref())).await
    }
}

fn owners(connection: &Connection, sql: &str, id: Option<&str>) -> Result<Vec<Owner>, StoreError> {
    let read = || {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        rows.collect::<rusqlite::Result<Vec<(String, String, i64)>>>()
    };
    let rows = read().map_err(store_error)?.into_iter();
    rows.map(|(tenant, caller, tasks)| Ok(Owner { scope: scope(tenant, &caller)?, tasks: from_column(tasks) }))
        .collect()
}
