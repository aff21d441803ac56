//! The nodes that share the store: leases by the server's clock, and commands between nodes.

use std::time::Duration;

use async_trait::async_trait;
use nuncio_engine::{
    StoreError,
    store::{Cluster, Command, CommandId, CommandStatus, Enqueued, Lease, NodeId, Report},
};
use tokio_postgres::Row;

use super::{
    PostgresStore,
    error::unavailable,
    links::Links,
    read::value,
    schema,
    statements::Sql,
    text::{self, ScopeColumns, from_column, to_column},
};
use crate::columns;

#[async_trait]
impl Cluster for PostgresStore {
    fn lease(&self) -> Duration {
        self.connector.options.lease
    }

    fn node(&self) -> NodeId {
        self.node.id()
    }

    async fn renew(&self) -> Result<Lease, StoreError> {
        let (id, lease) = (columns::to_column(self.node.at_work()?.0), self.lease().as_secs_f64());
        let bound = renewal_timeout(self.lease());
        if !self.vital.query_within(bound, Sql::Renew, &[&id, &lease]).await?.is_empty() {
            return Ok(Lease::Kept);
        }
        let joined = join(&self.vital, self.lease(), bound).await?;
        self.node.reborn(joined);
        Ok(Lease::Lost)
    }

    async fn enqueue(&self, command: &Command) -> Result<Enqueued, StoreError> {
        let scope = ScopeColumns::of(&command.scope)?;
        let (id, task) = (to_column(&command.id.0), to_column(command.task.as_str()));
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&&*id, &&*task, &scope.tenant, &scope.caller, &&*command.body];
        let rows = self.links.query(Sql::Enqueue, &values).await?;
        let Some(row) = rows.first() else { return Ok(Enqueued::NoTask) };
        Ok(match (value::<Option<i64>>(row, 0)?, value::<bool>(row, 1)?) {
            (Some(node), _) => Enqueued::Stored(node_id(node)),
            (None, true) => Enqueued::Waits,
            (None, false) => Enqueued::NoOwner,
        })
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Command>, StoreError> {
        let (node, limit) = (columns::to_column(self.node.id().0), columns::to_column(limit as u64));
        commands(&self.links.query(Sql::PendingCommands, &[&node, &limit]).await?)
    }

    async fn report(&self, id: &CommandId, report: Report) -> Result<(), StoreError> {
        let id = to_column(&id.0);
        let reported = match report {
            Report::Begun(record) => self.links.query(Sql::ReportBegun, &[&&*id, &columns::to_column(record)]).await,
            Report::Rested(record) => self.links.query(Sql::ReportRested, &[&&*id, &columns::to_column(record)]).await,
            Report::Refused(reason) => self.links.query(Sql::ReportRefused, &[&&*id, &&*reason]).await,
        };
        reported.map(|_| ())
    }

    async fn statuses(&self, ids: &[CommandId]) -> Result<Vec<Option<CommandStatus>>, StoreError> {
        let columns: Vec<_> = ids.iter().map(|id| to_column(&id.0)).collect();
        let columns: Vec<&str> = columns.iter().map(|id| &**id).collect();
        in_order(ids.len(), &self.links.query(Sql::CommandStatuses, &[&columns]).await?, |row| status(row).map(Some))
    }

    async fn cancel(&self, id: &CommandId) -> Result<bool, StoreError> {
        // Not idempotent: a repetition would return `false`, because the first execution has deleted the command.
        self.links.query_once(Sql::CancelCommand, &[&&*to_column(&id.0)]).await.map(|rows| !rows.is_empty())
    }

    async fn delete(&self, id: &CommandId) -> Result<(), StoreError> {
        self.links.query(Sql::DeleteCommand, &[&&*to_column(&id.0)]).await.map(|_| ())
    }
}

/// Reads rows whose first column is the number of the requested item, counted from 1. Returns one value per item; the
/// default value for items without a row.
fn in_order<T: Clone + Default>(
    number: usize,
    rows: &[Row],
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found = vec![T::default(); number];
    for row in rows {
        let place = usize::try_from(value::<i64>(row, 0)?).unwrap_or_default();
        if let Some(found) = place.checked_sub(1).and_then(|place| found.get_mut(place)) {
            *found = read(row)?;
        }
    }
    Ok(found)
}

/// Reads the status of a command. The first column is the number of the command.
fn status(row: &Row) -> Result<CommandStatus, StoreError> {
    let record = |column| value::<Option<i64>>(row, column).map(|record| record.map(columns::from_column));
    Ok(CommandStatus {
        acked: record(1)?,
        begun: record(2)?,
        rested: record(3)?,
        refused: value::<Option<&[u8]>>(row, 4)?.map(Into::into),
        holder: value::<Option<i64>>(row, 5)?.map(node_id),
    })
}

fn node_id(node: i64) -> NodeId {
    NodeId(columns::from_column(node))
}

/// The time limit for a renewal. Two further attempts fit into a lease that was renewed a third of its duration ago.
/// The minimum takes into account that the network is not faster for short leases.
fn renewal_timeout(lease: Duration) -> Duration {
    (lease / 6).max(Duration::from_millis(500)).min(lease / 2)
}

/// Registers a new node with a lease. Fails if a later release has updated the schema.
pub(super) async fn join(links: &Links, lease: Duration, bound: Duration) -> Result<NodeId, StoreError> {
    let rows = links.query_within(bound, Sql::Join, &[&lease.as_secs_f64(), &schema::version()]).await?;
    let Some(row) = rows.first() else {
        return Err(unavailable("a later release has updated the schema of the database; stop this node"));
    };
    value(row, 0).map(node_id)
}

/// Reads commands from rows.
pub(super) fn commands(rows: &[Row]) -> Result<Vec<Command>, StoreError> {
    let command = |row: &Row| {
        Ok(Command {
            id: CommandId(from_column(value(row, 0)?).into()),
            scope: text::scope(value(row, 1)?, value(row, 2)?)?,
            task: from_column(value(row, 3)?).as_ref().into(),
            body: value::<&[u8]>(row, 4)?.into(),
        })
    };
    rows.iter().map(command).collect()
}
