//! Reads a page of a list.

use std::sync::Arc;

use nuncio_model::Scope;

use super::{
    MemoryStore,
    index::{InContext, Lists},
    order::{Entry, Moment, Place},
    tables::ScopeLists,
};
use crate::store::{ListPage, ListQuery, PageToken, StoreError};

pub(super) fn list(store: &MemoryStore, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
    let token = query.place()?;
    let Some(scope) = store.tables.scope(scope) else { return Ok(ListPage::default()) };
    let mut page = ListPage { total: count(store, &scope, query), ..ListPage::default() };
    let mut last = token;
    loop {
        // One more than is missing tells whether there is another page.
        let wanted = query.page_size - page.tasks.len() + 1;
        let mut entries = read(store, &scope, query, last.as_ref(), wanted);
        let is_last = entries.len() < wanted;
        entries.truncate(wanted - 1);
        for entry in entries {
            last = Some(PageToken { updated: entry.at.into(), id: entry.node.id.clone() });
            // A task that has moved since belongs to an earlier place of the list.
            let mut head = entry.node.head.lock();
            if head.at == entry.at && head.state == entry.state && !head.gone {
                page.tasks.push(head.task()?);
            }
        }
        if is_last {
            return Ok(page);
        }
        if page.tasks.len() >= query.page_size {
            page.next = last.map(|last| last.encode(query));
            return Ok(page);
        }
    }
}

fn count(store: &MemoryStore, scope: &Arc<ScopeLists>, query: &ListQuery) -> usize {
    let since = query.updated_since.map(Moment::from);
    with_lists(
        store,
        scope,
        query,
        |lists| lists.count(query.state, since),
        |context| context.count(query.state, since),
    )
}

fn read(
    store: &MemoryStore,
    scope: &Arc<ScopeLists>,
    query: &ListQuery,
    after: Option<&PageToken>,
    limit: usize,
) -> Vec<Entry> {
    let since = query.updated_since.map(Moment::from);
    let before = after.map(|token| Place { at: token.updated.into(), id: token.id.as_str() });
    with_lists(
        store,
        scope,
        query,
        |lists| lists.page(query.state, before, since, limit),
        |context| context.page(query.state, before, since, limit),
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
