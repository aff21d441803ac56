//! Push configurations and their pending deliveries.

use nuncio_engine::{
    StoreError,
    store::{DuePush, NodeId, PushConfig, PushSettlement},
};
use nuncio_model::{PushConfigId, Scope, TaskId, Timestamp};

use super::{
    links::Links,
    read::{number, value},
    statements::Sql,
    text::{self, ScopeColumns, from_column, to_column},
};
use crate::{append::ConfigRow, body, columns};

pub(super) async fn put(links: &Links, scope: &Scope, config: PushConfig) -> Result<bool, StoreError> {
    let PushConfig { config, format, delivered } = config;
    let (scope, task) = (ScopeColumns::of(scope)?, config.task_id.clone().unwrap_or_default());
    let row = ConfigRow::new(&config, format)?;
    let format = row.format.as_deref().map(to_column);
    let rows = links
        .query(
            Sql::PutConfig,
            &[
                &&*to_column(task.as_str()),
                &scope.tenant,
                &scope.caller,
                &&*to_column(row.id.as_str()),
                &row.json,
                &format.as_deref(),
                &columns::to_column(delivered),
                &Timestamp::now().as_millisecond(),
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// The push configurations of a task, by id.
pub(super) async fn configs(
    links: &Links,
    scope: &Scope,
    task: &TaskId,
) -> Result<Option<Vec<PushConfig>>, StoreError> {
    let scope = ScopeColumns::of(scope)?;
    let rows = links.query(Sql::Configs, &[&&*to_column(task.as_str()), &scope.tenant, &scope.caller]).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut configs = Vec::with_capacity(rows.len());
    for row in &rows {
        // A task without push configurations is one row with NULL columns.
        let Some(config) = value::<Option<&str>>(row, 1)? else { continue };
        let format = value::<Option<&str>>(row, 2)?.map(|format| from_column(format).into());
        configs.push(PushConfig { config: body::read(config)?, format, delivered: number(row, 3)? });
    }
    Ok(Some(configs))
}

pub(super) async fn delete(links: &Links, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError> {
    let scope = ScopeColumns::of(scope)?;
    let (task, id) = (to_column(task.as_str()), to_column(id.as_str()));
    let rows = links.query(Sql::DeleteConfig, &[&&*task, &scope.tenant, &scope.caller, &&*id]).await?;
    Ok(!rows.is_empty())
}

/// The push configurations with a delivery that is due. The longest due come first. They are reserved for this node for
/// `claim` seconds.
pub(super) async fn due(
    links: &Links,
    now: Timestamp,
    limit: usize,
    node: NodeId,
    claim: f64,
) -> Result<Vec<DuePush>, StoreError> {
    let (limit, node) = (columns::to_column(limit as u64), columns::to_column(node.0));
    let rows = links.query(Sql::Due, &[&now.as_millisecond(), &limit, &node, &claim]).await?;
    let due = rows.iter().map(|row| {
        Ok(DuePush {
            scope: text::scope(value(row, 0)?, value(row, 1)?)?,
            config: body::read(value(row, 2)?)?,
            delivered: number(row, 3)?,
            pending: number(row, 4)?,
            attempts: u32::try_from(value::<i32>(row, 5)?).unwrap_or_default(),
        })
    });
    due.collect()
}

pub(super) async fn next(links: &Links, node: NodeId) -> Result<Option<Timestamp>, StoreError> {
    let rows = links.query(Sql::NextPush, &[&columns::to_column(node.0)]).await?;
    let next = rows.first().map(|row| value::<Option<i64>>(row, 0)).transpose()?;
    Ok(next.flatten().and_then(Timestamp::from_millisecond))
}

pub(super) async fn settle(
    links: &Links,
    settlement: PushSettlement,
    node: NodeId,
    claim: f64,
) -> Result<(), StoreError> {
    let scope = ScopeColumns::of(&settlement.scope)?;
    let error = settlement.error.as_deref().map(to_column);
    links
        .query(
            Sql::Settle,
            &[
                &&*to_column(settlement.task.as_str()),
                &scope.tenant,
                &scope.caller,
                &&*to_column(settlement.id.as_str()),
                &columns::to_column(settlement.delivered),
                &i32::try_from(settlement.attempts).unwrap_or(i32::MAX),
                &settlement.next_attempt.as_millisecond(),
                &error.as_deref(),
                &columns::to_column(node.0),
                &claim,
            ],
        )
        .await
        .map(|_| ())
}
