//! Lists running tasks, and tasks that should run but have no node.

use std::time::Duration;

use nuncio_engine::{
    StoreError,
    store::{AtWork, AtWorkPage, NodeId, Orphan},
};

use super::{
    committer::{ENDED, state_column},
    housekeeping::orphan,
    links::Links,
    node::Node,
    read::{number, value},
    statements::Sql,
    text::{self, from_column, to_column},
};
use crate::columns;

/// Tasks that should run but have no node.
pub(super) async fn orphans(
    links: &Links,
    node: &Node,
    limit: usize,
    lease: Duration,
    longest_call: Duration,
) -> Result<Vec<Orphan>, StoreError> {
    let unknown = node.unknown_claims();
    let unknown: Vec<_> = unknown.iter().map(|id| to_column(id.as_str())).collect();
    let unknown: Vec<&str> = unknown.iter().map(|id| &**id).collect();
    let (most, me) = (columns::to_column(limit as u64), columns::to_column(node.id().0));
    let (lease, ended) = (lease.as_secs_f64(), ENDED.map(state_column));
    let rows = links.query(Sql::Orphans, &[&most, &unknown, &me, &lease, &&ended[..]]).await?;
    let orphans = rows.iter().map(orphan).collect::<Result<Vec<_>, _>>()?;
    if orphans.len() < limit {
        node.forget_unknown(&orphans, longest_call);
    }
    Ok(orphans)
}

/// A page of the tasks that run on a node. The cursor contains the time and the id of the last task.
pub(super) async fn at_work(
    links: &Links,
    node: NodeId,
    after: Option<&str>,
    limit: usize,
) -> Result<AtWorkPage, StoreError> {
    let (created, id) = match after {
        None => (0, ""),
        Some(cursor) => {
            let (created, id) = cursor.split_once(':').ok_or(StoreError::BadPageToken)?;
            (created.parse::<i64>().map_err(|_| StoreError::BadPageToken)?, id)
        }
    };
    let (node, id, most) = (columns::to_column(node.0), to_column(id), columns::to_column(limit as u64));
    let rows = links.query(Sql::AtWork, &[&node, &created, &&*id, &most]).await?;
    let mut page = AtWorkPage::default();
    for row in &rows {
        page.tasks.push(AtWork {
            scope: text::scope(value(row, 0)?, value(row, 1)?)?,
            id: from_column(value(row, 2)?).as_ref().into(),
            epoch: number(row, 3)?,
            sequence: number(row, 4)?,
        });
    }
    if let (Some(row), Some(last)) = (rows.last().filter(|_| rows.len() == limit), page.tasks.last()) {
        page.next = Some(format!("{}:{}", value::<i64>(row, 5)?, last.id).into());
    }
    Ok(page)
}
