//! Converts commits to the arrays that the statements take, one array per column.

use std::borrow::Cow;

use nuncio_engine::{StoreError, store::NodeId};
use nuncio_model::Timestamp;
use tokio_postgres::{Row, types::ToSql};

use crate::{
    append::Append,
    columns::to_column as number,
    postgres::{
        session::{Failure, Session},
        statements::Sql,
        text::{ScopeColumns, to_column},
    },
};

/// The columns that creates and appends have in common.
#[derive(Default)]
struct Columns<'a> {
    id: Vec<String>,
    tenant: Vec<String>,
    caller: Vec<String>,
    sequence: Vec<i64>,
    state: Vec<i16>,
    updated: Vec<i64>,
    updated_rest: Vec<i32>,
    released: Vec<bool>,
    records: Vec<Option<&'a str>>,
    body: Vec<Option<&'a str>>,
    artifacts: Vec<Option<&'a str>>,
}

impl<'a> Columns<'a> {
    fn of(appends: &[&'a Append]) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for append in appends {
            let scope = ScopeColumns::of(&append.scope)?;
            let body = append.snapshot.as_ref().map(|snapshot| &snapshot.body);
            columns.id.push(to_column(append.id.as_str()).into_owned());
            columns.tenant.push(scope.tenant);
            columns.caller.push(scope.caller);
            columns.sequence.push(number(append.sequence));
            columns.state.push(state(append.state));
            columns.updated.push(append.updated.millisecond);
            columns.updated_rest.push(i32::try_from(append.updated.rest).unwrap_or_default());
            columns.released.push(append.released);
            columns.records.push(append.records.as_deref());
            columns.body.push(body.map(|body| &*body.task));
            columns.artifacts.push(body.and_then(|body| body.artifacts.as_deref()));
        }
        Ok(columns)
    }
}

pub(in crate::postgres) fn state(state: nuncio_model::TaskState) -> i16 {
    i16::try_from(state.number()).unwrap_or_default()
}

/// Message ids to store, each with its task.
#[derive(Default)]
struct Remembered<'a> {
    task: Vec<&'a str>,
    message: Vec<Cow<'a, str>>,
    since: Vec<i64>,
}

impl<'a> Remembered<'a> {
    /// The message ids of these commits; `ids` are the column values of their task ids.
    fn of(appends: &[&'a Append], ids: &'a [String]) -> Self {
        let mut remembered = Self::default();
        for (append, id) in appends.iter().zip(ids) {
            let Some(remember) = &append.remember else { continue };
            for message in &remember.messages {
                remembered.task.push(id);
                remembered.message.push(to_column(message.as_str()));
                remembered.since.push(remember.since.as_millisecond());
            }
        }
        remembered
    }
}

/// Appends. Returns one row for each commit that passed its checks: the id as stored in the column, and whether
/// deliveries are pending.
pub(super) async fn append(
    session: &Session,
    appends: &[&Append],
    node: NodeId,
) -> Result<Result<Vec<Row>, Failure>, StoreError> {
    let c = Columns::of(appends)?;
    let expected: Vec<i64> = appends.iter().map(|append| number(append.expected)).collect();
    let epoch: Vec<i64> = appends.iter().map(|append| number(append.epoch)).collect();
    let acks: Vec<_> =
        appends.iter().zip(&c.id).flat_map(|(append, id)| append.acks.iter().map(move |it| (id, it))).collect();
    let acked_task: Vec<&str> = acks.iter().map(|(task, _)| task.as_str()).collect();
    let acked_id: Vec<&str> = acks.iter().map(|(_, (id, _))| &*id.0).collect();
    let acked_sequence: Vec<i64> = acks.iter().map(|(_, (_, sequence))| number(*sequence)).collect();
    let (node, now) = (number(node.0), Timestamp::now().as_millisecond());
    let remembered = Remembered::of(appends, &c.id);
    let values: [&(dyn ToSql + Sync); 21] = [
        &c.id,
        &c.tenant,
        &c.caller,
        &expected,
        &epoch,
        &c.sequence,
        &c.state,
        &c.updated,
        &c.updated_rest,
        &c.released,
        &c.records,
        &c.body,
        &c.artifacts,
        &node,
        &now,
        &acked_task,
        &acked_id,
        &acked_sequence,
        &remembered.task,
        &remembered.message,
        &remembered.since,
    ];
    Ok(session.query(Sql::Append, &values).await)
}

/// Creates tasks. Returns one row for each commit: the id as stored in the column, whether the task was created,
/// whether deliveries are pending, and whether the node was allowed to create the task.
pub(super) async fn create(
    session: &Session,
    appends: &[&Append],
    node: NodeId,
) -> Result<Result<Vec<Row>, Failure>, StoreError> {
    let c = Columns::of(appends)?;
    let context: Vec<String> = appends.iter().map(|append| to_column(append.context.as_str()).into_owned()).collect();
    let configs: Vec<_> =
        appends.iter().zip(&c.id).flat_map(|(append, id)| append.push_configs.iter().map(move |it| (id, it))).collect();
    let config_task: Vec<&str> = configs.iter().map(|(task, _)| task.as_str()).collect();
    let config_id: Vec<String> = configs.iter().map(|(_, it)| to_column(it.id.as_str()).into_owned()).collect();
    let config: Vec<&str> = configs.iter().map(|(_, it)| it.json.as_str()).collect();
    let format: Vec<Option<String>> =
        configs.iter().map(|(_, it)| it.format.as_deref().map(|it| to_column(it).into_owned())).collect();
    let (node, now) = (number(node.0), Timestamp::now().as_millisecond());
    let remembered = Remembered::of(appends, &c.id);
    let values: [&(dyn ToSql + Sync); 21] = [
        &c.id,
        &c.tenant,
        &c.caller,
        &context,
        &c.sequence,
        &c.state,
        &c.updated,
        &c.updated_rest,
        &c.released,
        &c.records,
        &c.body,
        &c.artifacts,
        &node,
        &now,
        &config_task,
        &config_id,
        &config,
        &format,
        &remembered.task,
        &remembered.message,
        &remembered.since,
    ];
    Ok(session.query(Sql::Create, &values).await)
}
