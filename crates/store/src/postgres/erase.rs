//! Deleting somebody's tasks, also while nodes write to them.
//!
//! The tasks are locked by one statement and deleted by another, which sees what was committed until they were locked.
//! A single statement would not: rows of a commit that it had to wait for would stay.

use nuncio_engine::{StoreError, store::Erase};
use tokio::time::timeout;
use tokio_postgres::{Client, Error, IsolationLevel, types::ToSql};

use super::{
    error::{store_error, unavailable},
    session::Connector,
    text::{ScopeColumns, to_column},
};

/// Tasks that are deleted at a time: their rows are held for no longer than a few commits take.
const STEP: usize = 250;

/// Deletes tasks that are locked, with all that belongs to them.
const DELETE: &str = concat!(
    "WITH head AS (DELETE FROM tasks WHERE id = ANY ($1::text[]) RETURNING id, tenant, caller, state), ",
    include_str!("sql/delete_tail.sql")
);

/// Deletes somebody's tasks, and says how many.
pub(super) async fn erase(connector: &Connector, erase: &Erase) -> Result<usize, StoreError> {
    let (what, values): (&str, Vec<String>) = match erase {
        Erase::Tenant(tenant) => ("tenant = $1", vec![to_column(tenant.as_str()).into_owned()]),
        Erase::Scope(scope) => ("tenant = $1 AND caller = $2", of_scope(scope)?),
        Erase::Context(scope, context) => {
            let mut values = of_scope(scope)?;
            values.push(to_column(context.as_str()).into_owned());
            ("tenant = $1 AND caller = $2 AND context = $3", values)
        }
        Erase::Task(scope, id) => {
            let mut values = of_scope(scope)?;
            values.push(to_column(id.as_str()).into_owned());
            ("tenant = $1 AND caller = $2 AND id = $3", values)
        }
    };
    let lock = format!("SELECT id FROM tasks WHERE {what} LIMIT {STEP} FOR UPDATE");
    let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    let (mut client, _driver) = connector.connect_bare().await.map_err(unavailable)?;
    let mut erased = 0;
    loop {
        let deleted = timeout(connector.options.answer_timeout, step(&mut client, &lock, &values)).await;
        let deleted = deleted.map_err(unavailable)?.map_err(store_error)?;
        erased += deleted;
        if deleted < STEP {
            return Ok(erased);
        }
    }
}

fn of_scope(scope: &nuncio_model::Scope) -> Result<Vec<String>, StoreError> {
    let scope = ScopeColumns::of(scope)?;
    Ok(vec![scope.tenant, scope.caller])
}

async fn step(client: &mut Client, lock: &str, values: &[&(dyn ToSql + Sync)]) -> Result<usize, Error> {
    let transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?;
    let rows = transaction.query(lock, values).await?;
    let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<&str>, _>>()?;
    transaction.query(DELETE, &[&ids]).await?;
    transaction.commit().await?;
    Ok(ids.len())
}
