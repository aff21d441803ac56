//! Erases the tasks of a tenant, a scope or a context, or a single task.

use nuncio_engine::{StoreError, store::Erase};
use nuncio_model::Scope;
use tokio_postgres::types::ToSql;

use super::{
    chores::Chores,
    deletion::{Deletion, STEP},
    session::Connector,
    text::{ScopeColumns, to_column},
};

/// Deletes the selected tasks and returns their number.
pub(super) async fn erase(connector: &Connector, chores: &Chores, erase: &Erase) -> Result<usize, StoreError> {
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
    let find = format!("SELECT id FROM tasks WHERE {what} LIMIT {STEP}");
    let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
    let mut deletion = Deletion::begin(connector, chores).await?;
    let erased = every(&mut deletion, &find, &values).await;
    let ended = deletion.end().await;
    let erased = erased?;
    ended.map(|()| erased)
}

/// Deletes tasks until the query finds none.
async fn every(deletion: &mut Deletion<'_>, find: &str, values: &[&(dyn ToSql + Sync)]) -> Result<usize, StoreError> {
    let mut erased = 0;
    loop {
        let found = deletion.find(find, values).await?;
        if found.is_empty() {
            return Ok(erased);
        }
        erased += deletion.delete(&found, None).await?;
    }
}

fn of_scope(scope: &Scope) -> Result<Vec<String>, StoreError> {
    let scope = ScopeColumns::of(scope)?;
    Ok(vec![scope.tenant, scope.caller])
}
