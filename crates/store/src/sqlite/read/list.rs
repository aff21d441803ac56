//! Reads a page of a list. An index contains the tasks of each state of a scope in order. The page merges the ordered
//! tasks of the requested states. Therefore two indexes serve all filters.

use std::sync::Arc;

use nuncio_engine::{
    StoreError,
    store::{ListPage, ListQuery, PageToken},
};
use nuncio_model::{Scope, Task, TaskId, weight};
use rusqlite::{Connection, OptionalExtension as _, Rows, ToSql};

use super::task;
use crate::sqlite::{
    cache::Cache,
    columns::{self, Moment},
    error::store_error,
};

const IN_SCOPE: &str = "SELECT updated, updated_rest, id, task FROM tasks INDEXED BY tasks_by_state \
    WHERE scope = ?1 AND state = ?2 AND (updated, updated_rest, id) < (?3, ?4, ?5) \
    AND (updated, updated_rest) >= (?6, ?7) ORDER BY updated DESC, updated_rest DESC, id DESC";
const IN_CONTEXT: &str = "SELECT updated, updated_rest, id, task FROM tasks INDEXED BY tasks_by_context \
    WHERE scope = ?1 AND state = ?2 AND (updated, updated_rest, id) < (?3, ?4, ?5) \
    AND (updated, updated_rest) >= (?6, ?7) AND context = ?8 ORDER BY updated DESC, updated_rest DESC, id DESC";
const COUNT_IN_SCOPE: &str = "SELECT count(*) FROM tasks INDEXED BY tasks_by_state \
    WHERE scope = ?1 AND state = ?2 AND (updated, updated_rest) >= (?3, ?4)";
const COUNT_IN_CONTEXT: &str = "SELECT count(*) FROM tasks INDEXED BY tasks_by_context \
    WHERE scope = ?1 AND state = ?2 AND (updated, updated_rest) >= (?3, ?4) AND context = ?5";

/// The position of a task in a list.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ListPosition {
    updated: Moment,
    id: TaskId,
    task: i64,
    state: i32,
}

impl ListPosition {
    fn next(rows: &mut Rows<'_>, state: i32) -> rusqlite::Result<Option<Self>> {
        let Some(row) = rows.next()? else { return Ok(None) };
        let updated = Moment { millisecond: row.get(0)?, rest: row.get(1)? };
        let id = row.get_ref(2)?.as_str()?.into();
        Ok(Some(Self { updated, id, task: row.get(3)?, state }))
    }
}

pub(in crate::sqlite) fn list(
    connection: &Connection,
    cache: &Cache,
    scope: &Scope,
    query: &ListQuery,
    token: Option<&PageToken>,
) -> Result<ListPage, StoreError> {
    let Some(scope_key) = scope_key(connection, scope)? else { return Ok(ListPage::default()) };
    let states = states(connection, scope_key, query)?;
    let total = match query.total {
        Some(total) => total,
        None => total(connection, scope_key, query, &states).map_err(store_error)?,
    };
    let mut places = merge(connection, scope_key, query, token, &states).map_err(store_error)?;
    let mut has_more = places.len() > query.page_size;
    places.truncate(query.page_size);
    let mut tasks = Vec::with_capacity(places.len());
    let mut room = query.page_bytes.unwrap_or(usize::MAX);
    let mut end = places.len();
    for (number, place) in places.iter().enumerate() {
        // A page contains at least one task, whatever its size.
        let most = if tasks.is_empty() { usize::MAX } else { room };
        match read(connection, cache, scope, place, query.artifacts, most) {
            Ok(Some((task, size))) => {
                room = room.saturating_sub(size);
                tasks.push(task);
            }
            Ok(None) => {
                end = number;
                break;
            }
            // A task that cannot be read must not prevent the other tasks from being listed.
            Err(error @ StoreError::Corrupt(_)) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(task = %place.id, error, "store: cannot read a task; the list omits the task");
            }
            Err(error) => return Err(error),
        }
    }
    has_more |= end < places.len();
    places.truncate(end);
    let next = match places.last() {
        Some(last) if has_more => {
            Some(PageToken { updated: last.updated.to_timestamp()?, id: last.id.clone() }.encode(query))
        }
        _ => None,
    };
    Ok(ListPage { tasks, next, total })
}

fn scope_key(connection: &Connection, scope: &Scope) -> Result<Option<i64>, StoreError> {
    let caller = columns::caller(&scope.principal)?;
    connection
        .prepare_cached("SELECT scope FROM scopes WHERE tenant = ?1 AND caller = ?2")
        .and_then(|mut statement| statement.query_row((scope.tenant.as_str(), caller), |row| row.get(0)).optional())
        .map_err(store_error)
}

/// The requested states in which the scope has tasks, each with the number of its tasks.
fn states(connection: &Connection, scope: i64, query: &ListQuery) -> Result<Vec<(i32, i64)>, StoreError> {
    let read = || {
        let mut statement =
            connection.prepare_cached("SELECT state, tasks FROM totals WHERE scope = ?1 AND tasks > 0")?;
        statement.query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<Vec<_>>>()
    };
    let mut states = read().map_err(store_error)?;
    states.retain(|(state, _)| query.state.is_none_or(|wanted| wanted.number() == *state));
    Ok(states)
}

fn total(connection: &Connection, scope: i64, query: &ListQuery, states: &[(i32, i64)]) -> rusqlite::Result<usize> {
    let mut total = 0;
    if query.context.is_none() && query.updated_since.is_none() {
        total = states.iter().map(|(_, tasks)| tasks).sum();
    } else {
        let since = query.updated_since.map_or(Moment::FIRST, Moment::from);
        for (state, _) in states {
            total += match &query.context {
                None => connection
                    .prepare_cached(COUNT_IN_SCOPE)?
                    .query_row((scope, state, since.millisecond, since.rest), |row| row.get::<_, i64>(0))?,
                Some(context) => connection
                    .prepare_cached(COUNT_IN_CONTEXT)?
                    .query_row((scope, state, since.millisecond, since.rest, context.as_str()), |row| row.get(0))?,
            };
        }
    }
    Ok(usize::try_from(total).unwrap_or_default())
}

/// The positions of the tasks of the page and of one further task, newest first.
fn merge(
    connection: &Connection,
    scope: i64,
    query: &ListQuery,
    token: Option<&PageToken>,
    states: &[(i32, i64)],
) -> rusqlite::Result<Vec<ListPosition>> {
    let before = token.map_or(Moment::LAST, |token| token.updated.into());
    let before_id = token.map_or("", |token| token.id.as_str());
    let since = query.updated_since.map_or(Moment::FIRST, Moment::from);
    let context = query.context.as_ref().map(nuncio_model::ContextId::as_str);
    let sql = if context.is_some() { IN_CONTEXT } else { IN_SCOPE };
    let mut statements = states.iter().map(|_| connection.prepare_cached(sql)).collect::<rusqlite::Result<Vec<_>>>()?;
    let mut heads: Vec<(Rows<'_>, i32, Option<ListPosition>)> = Vec::with_capacity(states.len());
    for (statement, (state, _)) in statements.iter_mut().zip(states) {
        let mut values: Vec<&dyn ToSql> = vec![&scope, state, &before.millisecond, &before.rest, &before_id];
        values.extend([&since.millisecond as &dyn ToSql, &since.rest]);
        if let Some(context) = &context {
            values.push(context);
        }
        let mut rows = statement.query(&*values)?;
        let first = ListPosition::next(&mut rows, *state)?;
        heads.push((rows, *state, first));
    }
    let mut places = Vec::with_capacity(query.page_size + 1);
    while places.len() <= query.page_size {
        let newest = heads.iter_mut().filter(|(.., place)| place.is_some()).max_by(|(.., one), (.., two)| one.cmp(two));
        let Some((rows, state, place)) = newest else { break };
        let next = ListPosition::next(rows, *state)?;
        places.extend(std::mem::replace(place, next));
    }
    Ok(places)
}

/// The task at a position and its size; `None` if the task is larger than `most`. The cached task is used if the task
/// has not changed since this transaction began.
fn read(
    connection: &Connection,
    cache: &Cache,
    scope: &Scope,
    place: &ListPosition,
    artifacts: bool,
    most: usize,
) -> Result<Option<(Arc<Task>, usize)>, StoreError> {
    if let Some(stored) = cache.find(scope, &place.id)
        && stored.task.status.timestamp.map(Moment::from) == Some(place.updated)
        && stored.task.state().number() == place.state
    {
        let size = weight::of_listed(&stored.task, artifacts);
        return Ok((size <= most).then_some((stored.task, size)));
    }
    let loaded = task::get(connection, place.task, &place.id, artifacts, most)?;
    Ok(loaded.map(|loaded| (loaded.stored.task, loaded.json)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn a_page_and_a_total_read_one_range_of_one_index() {
        let database = schema::in_memory();
        for (sql, index) in [
            (IN_SCOPE, "tasks_by_state (scope=? AND state=? AND (updated,updated_rest)>(?,?)"),
            (COUNT_IN_SCOPE, "tasks_by_state (scope=? AND state=? AND (updated,updated_rest)>(?,?)"),
            (IN_CONTEXT, "tasks_by_context (scope=? AND context=? AND state=? AND (updated,updated_rest)>(?,?)"),
            (COUNT_IN_CONTEXT, "tasks_by_context (scope=? AND context=? AND state=? AND (updated,updated_rest)>(?,?)"),
        ] {
            let plan = schema::plan(&database, sql);
            assert_eq!(plan.len(), 1, "{plan:?}");
            assert!(plan[0].contains(&format!("USING COVERING INDEX {index}")), "{plan:?}");
        }
        let (in_scope, in_context) = (schema::plan(&database, IN_SCOPE), schema::plan(&database, IN_CONTEXT));
        for plan in [in_scope, in_context] {
            assert!(plan[0].contains("(updated,updated_rest,id)<(?,?,?)"), "{plan:?}");
        }
    }
}
