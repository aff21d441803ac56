//! Reads of tasks. Each read is one statement, so that all of its data is of the same moment.

use std::{collections::HashMap, sync::Arc};

use nuncio_engine::{
    Record, StoreError, lifecycle,
    store::{ListPage, ListQuery, PageToken, Portion, Stored},
};
use nuncio_model::{ContextId, Scope, Task, TaskId, TaskState, Timestamp};
use tokio_postgres::{
    Row,
    types::{FromSql, ToSql},
};

use super::{
    committer::state_column,
    links::Links,
    statements::Sql,
    text::{ScopeColumns, from_column, to_column},
};
use crate::{
    body,
    columns::{self, Moment},
    error::corrupt,
};

pub(super) fn value<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| corrupt(super::error::explain(&error)))
}

/// A value that is stored as a signed number.
pub(super) fn number(row: &Row, column: usize) -> Result<u64, StoreError> {
    value::<i64>(row, column).map(columns::from_column)
}

/// The time of the server's clock.
pub(super) async fn now(links: &Links) -> Result<Timestamp, StoreError> {
    let rows = links.query(Sql::Now, &[]).await?;
    let now = rows.first().map(|row| value(row, 0)).transpose()?.and_then(Timestamp::from_millisecond);
    now.ok_or_else(|| corrupt("the server's clock is out of range"))
}

/// The numbers of the last records of these tasks, in the same order.
pub(super) async fn sequences(links: &Links, tasks: &[(Scope, TaskId)]) -> Result<Vec<Option<u64>>, StoreError> {
    let (mut ids, mut tenants, mut callers) = (Vec::new(), Vec::new(), Vec::new());
    for (scope, id) in tasks {
        let scope = ScopeColumns::of(scope)?;
        ids.push(to_column(id.as_str()));
        tenants.push(scope.tenant);
        callers.push(scope.caller);
    }
    let ids: Vec<&str> = ids.iter().map(|id| &**id).collect();
    let mut sequences = vec![None; tasks.len()];
    for row in &links.query(Sql::Sequences, &[&ids, &tenants, &callers]).await? {
        let place = usize::try_from(value::<i64>(row, 0)?).unwrap_or_default();
        if let Some(sequence) = place.checked_sub(1).and_then(|place| sequences.get_mut(place)) {
            *sequence = Some(number(row, 1)?);
        }
    }
    Ok(sequences)
}

/// Loads a task of this scope, with all of its records applied.
pub(super) async fn load(links: &Links, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
    let scope = ScopeColumns::of(scope)?;
    let rows = links.query(Sql::Load, &[&&*to_column(id.as_str()), &scope.tenant, &scope.caller]).await?;
    let mut head = None;
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        match value::<Option<i64>>(row, 2)? {
            Some(epoch) => head = Some((row, columns::from_column(epoch))),
            None => events.push((number(row, 1)?, value::<&str>(row, 4)?)),
        }
    }
    let Some((row, epoch)) = head else { return Ok(None) };
    let sequence = number(row, 1)?;
    let parts = Parts {
        id: id.clone(),
        context: from_column(value(row, 0)?).as_ref().into(),
        sequence,
        folded: number(row, 3)?,
        body: value(row, 4)?,
        artifacts: value(row, 5)?,
        events,
    };
    Ok(Some(Stored { task: Arc::new(parts.fold()?), sequence, epoch }))
}

/// The stored parts of a task.
pub(super) struct Parts<'a> {
    pub(super) id: TaskId,
    pub(super) context: ContextId,
    pub(super) sequence: u64,
    /// The last record that the body includes.
    pub(super) folded: u64,
    pub(super) body: Option<&'a str>,
    pub(super) artifacts: Option<&'a str>,
    /// The rows of later records, each with the number of its last record.
    pub(super) events: Vec<(u64, &'a str)>,
}

impl Parts<'_> {
    /// Builds the task. Without `artifacts`, the task contains only the artifacts of records after the snapshot.
    pub(super) fn fold(mut self) -> Result<Task, StoreError> {
        let mut task = match self.body {
            Some(body) => body::read_task(self.id.clone(), self.context.clone(), body, self.artifacts)?,
            None => Task::default(),
        };
        self.events.sort_unstable_by_key(|(last, _)| *last);
        let mut folded = self.folded;
        for (last, body) in self.events {
            for record in body::read_records(body, last, &self.id, &self.context)? {
                if record.sequence() != folded + 1 {
                    return Err(corrupt("a record is missing"));
                }
                lifecycle::apply(&mut task, &record).map_err(corrupt)?;
                folded += 1;
            }
        }
        if folded != self.sequence {
            return Err(corrupt("the last records are missing"));
        }
        Ok(task)
    }
}

/// The records after `after`, in order, as many as fit into the portion. Mostly one query is enough.
pub(super) async fn events(
    links: &Links,
    scope: &Scope,
    id: &TaskId,
    after: u64,
    mut portion: Portion,
) -> Result<Vec<Record>, StoreError> {
    let scope = ScopeColumns::of(scope)?;
    let id_column = to_column(id.as_str());
    let (mut records, mut last) = (Vec::new(), after);
    loop {
        let (from, most) = (columns::to_column(last), columns::to_column(portion.records as u64));
        // A record is longer as JSON than in the model, but rarely more than twice as long if it is large.
        let bytes = columns::to_column(portion.bytes.saturating_mul(2) as u64);
        let rows =
            links.query(Sql::Events, &[&&*id_column, &scope.tenant, &scope.caller, &from, &most, &bytes]).await?;
        let end = rows.first().map_or(Ok(0), |head| number(head, 1))?;
        if last >= end || !portion.has_room() {
            return Ok(records);
        }
        let mut is_next = false;
        for row in &rows {
            let Some(last_of_row) = value::<Option<i64>>(row, 2)? else { break };
            let context = from_column(value(row, 0)?).as_ref().into();
            let read = body::read_records(value(row, 3)?, columns::from_column(last_of_row), id, &context)?;
            for record in read.into_iter().filter(|record| record.sequence() > last) {
                is_next |= record.sequence() == last + 1;
                if portion.takes(&record) {
                    records.push(record);
                }
            }
        }
        if !is_next {
            return Err(StoreError::Compacted);
        }
        last = records.last().map_or(last, Record::sequence);
        if last >= end || !portion.has_room() {
            return Ok(records);
        }
    }
}

/// A page of a list, and the total number of matching tasks.
pub(super) async fn list(links: &Links, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
    let token = query.place()?;
    let scope = ScopeColumns::of(scope)?;
    let context = query.context.as_ref().map(|context| to_column(context.as_str()));
    let since = query.updated_since.map_or(Moment::FIRST, Moment::from);
    let since_rest = i32::try_from(since.rest).unwrap_or_default();
    let states: Vec<i16> = match query.state {
        Some(state) => vec![state_column(state)],
        None => (0..=state_column(TaskState::AuthRequired)).collect(),
    };
    let before = token.as_ref().map_or(Moment::LAST, |token| token.updated.into());
    let before_rest = i32::try_from(before.rest).unwrap_or_default();
    let before_id = token.as_ref().map_or(std::borrow::Cow::Borrowed(""), |token| to_column(token.id.as_str()));
    let most = columns::to_column(query.page_size as u64 + 1);
    let most_bytes = columns::to_column(query.page_bytes.map_or(u64::MAX, |bytes| bytes as u64));
    let in_scope: [&(dyn ToSql + Sync); 13] = [
        &scope.tenant,
        &scope.caller,
        &states,
        &before.millisecond,
        &before_rest,
        &&*before_id,
        &since.millisecond,
        &since_rest,
        &most,
        &query.artifacts,
        &token.is_none(),
        // Where the number is known, the sum over all states is cheap, and is not used.
        &(query.total.is_some() || context.is_none() && query.updated_since.is_none()),
        &most_bytes,
    ];
    let rows = match &context {
        None => links.query(Sql::ListInScope, &in_scope).await?,
        Some(context) => {
            let context = &**context;
            let mut values = in_scope.to_vec();
            values.push(&context);
            links.query(Sql::ListInContext, &values).await?
        }
    };
    read_page(&rows, query)
}

fn read_page(rows: &[Row], query: &ListQuery) -> Result<ListPage, StoreError> {
    let (mut total, mut looked_at) = (0, 0);
    let mut heads = Vec::new();
    let mut events: HashMap<&str, Vec<(u64, &str)>> = HashMap::new();
    for row in rows {
        match (value::<Option<&str>>(row, 0)?, value::<Option<&str>>(row, 1)?) {
            (Some(id), Some(context)) => {
                let rest = i64::from(value::<i32>(row, 3)?);
                heads.push((Moment { millisecond: value(row, 2)?, rest }, id, context, row));
            }
            (Some(id), None) => events.entry(id).or_default().push((number(row, 4)?, value(row, 6)?)),
            (None, _) => {
                let count = |column| Ok::<_, StoreError>(usize::try_from(number(row, column)?).unwrap_or(usize::MAX));
                (total, looked_at) = (count(4)?, count(5)?);
            }
        }
    }
    heads.sort_unstable_by_key(|(updated, id, ..)| std::cmp::Reverse((*updated, *id)));
    let has_more = looked_at > heads.len();
    let next = match heads.last() {
        Some((updated, id, ..)) if has_more => {
            let id = from_column(id).as_ref().into();
            Some(PageToken { updated: updated.to_timestamp()?, id }.encode(query))
        }
        _ => None,
    };
    let tasks = heads.into_iter().map(|(_, id, context, row)| {
        let parts = Parts {
            id: from_column(id).as_ref().into(),
            context: from_column(context).as_ref().into(),
            sequence: number(row, 4)?,
            folded: number(row, 5)?,
            body: value(row, 6)?,
            artifacts: value(row, 7)?,
            events: events.remove(id).unwrap_or_default(),
        };
        Ok(match parts.fold() {
            Ok(task) => Some(Arc::new(task)),
            Err(error @ StoreError::Corrupt(_)) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(task = id, error, "store: cannot read a task; the list omits the task");
                None
            }
            Err(error) => return Err(error),
        })
    });
    let tasks = tasks.filter_map(Result::transpose).collect::<Result<_, StoreError>>()?;
    Ok(ListPage { tasks, next, total: query.total.unwrap_or(total) })
}

/// The number in the first row.
pub(super) fn first(rows: &[Row]) -> Result<i64, StoreError> {
    rows.first().map_or(Ok(0), |row| value(row, 0))
}
