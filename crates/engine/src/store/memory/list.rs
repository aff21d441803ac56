//! Reads a page of a list.

use std::sync::Arc;

use nuncio_model::{Scope, weight};

use super::{
    MemoryStore,
    index::{InContext, Lists},
    node::Head,
    order::{Entry, Moment, Place},
    tables::ScopeLists,
};
use crate::store::{ListPage, ListQuery, PageToken, StoreError};

/// The number of attempts to read a page while tasks of the page change.
const RETRIES: usize = 16;

/// The page at one point in time. If the tasks change during all attempts, the page has the current state of a changed
/// task. Such a task is not missing, but tasks before it may be at their previous positions.
pub(super) fn list(store: &MemoryStore, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
    let token = query.place()?;
    let Some(scope) = store.tables.scope(scope) else { return Ok(ListPage::default()) };
    let mut retries = RETRIES;
    loop {
        let (mut total, mut entries) = read(store, &scope, query, token.as_ref());
        let mut has_more = entries.len() > query.page_size;
        entries.truncate(query.page_size);
        let mut tasks = Vec::with_capacity(entries.len());
        let (mut moved, mut end) = (false, entries.len());
        let mut room = query.page_bytes;
        for (place, entry) in entries.iter().enumerate() {
            let mut head = entry.node.head.lock();
            moved |= head.deleted || (head.at, head.state) != (entry.at, entry.state);
            if moved && retries > 0 {
                break;
            }
            if head.deleted || !matches(query, &head) {
                total = total.saturating_sub(1);
            } else {
                let (listed, task) = (entry.node.entry(&head), head.task()?);
                drop(head);
                if let Some(room) = &mut room {
                    let size = weight::of_listed(&task, query.artifacts);
                    if size > *room && !tasks.is_empty() {
                        end = place;
                        break;
                    }
                    *room = room.saturating_sub(size);
                }
                tasks.push((listed, task));
            }
        }
        has_more |= end < entries.len();
        entries.truncate(end);
        if moved && retries > 0 {
            retries -= 1;
            continue;
        }
        if moved {
            tasks.sort_by(|(one, _), (other, _)| other.place().cmp(&one.place()));
        }
        let last = entries.last().filter(|_| has_more);
        let next = last.map(|last| PageToken { updated: last.at.into(), id: last.node.id.clone() }.encode(query));
        let total = query.total.unwrap_or(total);
        return Ok(ListPage { tasks: tasks.into_iter().map(|(_, task)| task).collect(), next, total });
    }
}

fn matches(query: &ListQuery, head: &Head) -> bool {
    query.state.is_none_or(|state| head.state == state)
        && query.updated_since.is_none_or(|since| head.at >= Moment::from(since))
}

/// The total of matching tasks, and the tasks of the page plus one, which shows whether another page follows.
fn read(
    store: &MemoryStore,
    scope: &Arc<ScopeLists>,
    query: &ListQuery,
    token: Option<&PageToken>,
) -> (usize, Vec<Entry>) {
    let since = query.updated_since.map(Moment::from);
    let before = token.map(|token| Place { at: token.updated.into(), id: token.id.as_str() });
    let limit = query.page_size + 1;
    let counts = query.total.is_none();
    with_lists(
        store,
        scope,
        query,
        |lists| {
            let count = if counts { lists.count(query.state, since) } else { 0 };
            (count, lists.page(query.state, before, since, limit))
        },
        |context| {
            let count = if counts { context.count(query.state, since) } else { 0 };
            (count, context.page(query.state, before, since, limit))
        },
    )
}

fn with_lists<R: Default>(
    store: &MemoryStore,
    scope: &Arc<ScopeLists>,
    query: &ListQuery,
    in_scope: impl FnOnce(&Lists) -> R,
    in_context: impl FnOnce(&InContext) -> R,
) -> R {
    match &query.context {
        None => in_scope(&scope.lists.lock()),
        Some(context) => store.tables.read_context(scope, context, in_context).unwrap_or_default(),
    }
}
