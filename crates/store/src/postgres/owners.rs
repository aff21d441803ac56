//! Counts tasks per scope.

use nuncio_engine::StoreError;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;

use super::{
    PostgresStore,
    error::{store_error, unavailable},
    read::{number, value},
    text::{self, to_column},
};
use crate::owners::{Owner, Which};

const ALL: &str = "SELECT tenant, caller, sum(tasks)::int8 FROM totals GROUP BY tenant, caller HAVING sum(tasks) > 0";
/// Reads the index, one scope after the other.
const OF_CONTEXT: &str = "SELECT tenant, caller, count(*) FROM tasks \
                          JOIN (SELECT DISTINCT tenant, caller FROM totals) AS owners USING (tenant, caller) \
                          WHERE context = $1 GROUP BY tenant, caller";
const OF_TASK: &str = "SELECT tenant, caller, 1::int8 FROM tasks WHERE id = $1";

impl PostgresStore {
    /// Counts tasks per scope without reading the tasks. For all tasks, the query reads stored counters. For a context,
    /// the query reads an index once per scope. For one task, the query reads one row.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn owners(&self, which: Which<'_>) -> Result<Vec<Owner>, StoreError> {
        let (sql, id) = match which {
            Which::All => (ALL, None),
            Which::Context(id) => (OF_CONTEXT, Some(to_column(id.as_str()))),
            Which::Task(id) => (OF_TASK, Some(to_column(id.as_str()))),
        };
        let id = id.as_deref();
        let values: Vec<_> = id.iter().map(|id| id as &(dyn ToSql + Sync)).collect();
        // Uses a separate connection, because this query is rare and can take long.
        let (client, _driver) = self.connector.connect_bare().await.map_err(unavailable)?;
        let rows = timeout(self.connector.options.answer_timeout, client.query(sql, &values)).await;
        let rows = rows.map_err(unavailable)?.map_err(store_error)?;
        let owner = |row| Ok(Owner { scope: text::scope(value(row, 0)?, value(row, 1)?)?, tasks: number(row, 2)? });
        rows.iter().map(owner).collect()
    }
}
