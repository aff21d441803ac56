//! Housekeeping: deletes old tasks and erases tasks.
//!
//! Each scope has its tasks by state and time, so old tasks are found there. Each lock is held for a limited number of
//! entries.

use std::sync::Arc;

use nuncio_model::{TaskId, TaskState, Timestamp};

use super::{
    MemoryStore,
    hooks::Hook,
    node::{Head, MemoryNode},
    order::{Entry, Moment},
    tables::ScopeLists,
};
use crate::store::{Erase, Orphan, Purge, ScanPage, Scanned, StoreError, Unreadable};

/// The number of entries that are checked under one lock.
const STRETCH: usize = 256;

/// Deletes old tasks.
pub(super) fn purge(store: &MemoryStore, purge: &Purge) -> usize {
    let before = Moment::from(purge.before);
    let mut deleted = 0;
    for scope in store.tables.scopes(|scope| purge.is_of(&scope.tenant)) {
        for state in &purge.states {
            each_older(&scope, *state, before, |entry| {
                let mut head = entry.node.head.lock();
                let is_meant = head.released && head.state == *state && head.at < before;
                if deleted < purge.limit && is_meant && !head.has_pending() {
                    deleted += usize::from(store.remove(&entry.node, &mut head));
                }
                deleted < purge.limit
            });
        }
        store.tables.tidy_scope(&scope);
        if deleted == purge.limit {
            break;
        }
    }
    deleted
}

/// Tasks that have been interrupted for long.
pub(super) fn resting(store: &MemoryStore, states: &[TaskState], before: Timestamp, limit: usize) -> Vec<Orphan> {
    let before = Moment::from(before);
    let mut resting: Vec<Entry> = Vec::new();
    for scope in store.tables.scopes(|_| true) {
        for state in states.iter().filter(|state| !state.is_terminal()) {
            let mut found = 0;
            each_older(&scope, *state, before, |entry| {
                let head = entry.node.head.lock();
                if head.released && !head.deleted && (head.at, head.state) == (entry.at, entry.state) {
                    found += 1;
                    resting.push(entry.clone());
                }
                found < limit
            });
        }
        resting.sort_by(|one, two| one.place().cmp(&two.place()));
        resting.truncate(limit);
    }
    resting.iter().map(|entry| orphan(&entry.node)).collect()
}

/// Deletes tasks in any state.
pub(super) fn erase(store: &MemoryStore, erase: &Erase) -> usize {
    let mut deleted = 0;
    let mut remove = |node: &Arc<MemoryNode>| deleted += usize::from(store.remove(node, &mut node.head.lock()));
    let scopes = match erase {
        Erase::Tenant(tenant) => store.tables.scopes(|scope| scope.tenant == *tenant),
        Erase::Scope(scope) | Erase::Context(scope, _) => store.tables.scope(scope).into_iter().collect(),
        Erase::Task(scope, id) => {
            store.tables.task(scope, id).iter().for_each(&mut remove);
            return deleted;
        }
    };
    for scope in scopes {
        loop {
            let entries = match erase {
                Erase::Context(_, context) => {
                    store.tables.read_context(&scope, context, |tasks| tasks.page(None, None, None, STRETCH))
                }
                _ => Some(scope.lists.lock().page(None, None, None, STRETCH)),
            };
            let Some(entries) = entries.filter(|entries| !entries.is_empty()) else { break };
            for entry in &entries {
                remove(&entry.node);
            }
        }
        store.tables.tidy_scope(&scope);
    }
    deleted
}

/// A page of all tasks, in the order of shards and tables.
pub(super) fn scan(store: &MemoryStore, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
    let (mut shard, mut last) = match after {
        None => (0, None),
        Some(cursor) => {
            let (shard, id) = cursor.split_once(':').ok_or(StoreError::BadPageToken)?;
            let shard = shard.parse().map_err(|_| StoreError::BadPageToken)?;
            (shard, Some(TaskId::from(id)).filter(|id| !id.is_empty()))
        }
    };
    let mut page = ScanPage::default();
    loop {
        let missing = limit - page.tasks.len() - page.unreadable.len();
        let Some(nodes) = store.tables.tasks_of_shard(shard, last.as_ref(), missing) else { return Ok(page) };
        for node in &nodes {
            add(&mut page, node);
        }
        if nodes.len() < missing {
            (shard, last) = (shard + 1, None);
        } else if let Some(node) = nodes.last() {
            last = Some(node.id.clone());
        }
        if page.tasks.len() + page.unreadable.len() == limit {
            // Without an id, the cursor is the start of the shard.
            let last = last.as_ref().map_or("", |last| last.as_str());
            page.next = Some(format!("{shard}:{last}").into());
            return Ok(page);
        }
    }
}

fn add(page: &mut ScanPage, node: &Arc<MemoryNode>) {
    let mut head = node.head.lock();
    if head.deleted || head.sequence == 0 {
        return;
    }
    let scope = node.scope.scope.clone();
    match head.stored() {
        Ok(stored) => {
            let configs = head.hooks().iter().map(Hook::to_config).collect();
            page.tasks.push(Scanned { scope, stored, configs });
        }
        Err(error) => page.unreadable.push(Unreadable { scope, id: node.id.clone(), error }),
    }
}

/// Drops the logs of tasks at rest.
pub(super) fn compact(store: &MemoryStore, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let before = Moment::from(before);
    let mut compacted = 0;
    // Logs that cannot be dropped yet are appended to the queue again.
    for _ in 0..store.retention.logs().min(limit.saturating_mul(4)) {
        if compacted == limit {
            break;
        }
        let Some(node) = store.retention.next_log() else { break };
        let mut head = node.head.lock();
        if head.deleted || !head.released {
            continue;
        }
        if head.at >= before || head.has_pending() {
            store.retention.released(&node, &mut head);
        } else if head.drop_log()? {
            compacted += 1;
        }
    }
    Ok(compacted)
}

/// Calls `with` for each entry of a state before a time, oldest first, until `with` returns `false`.
fn each_older(scope: &ScopeLists, state: TaskState, before: Moment, mut with: impl FnMut(&Entry) -> bool) {
    let mut last: Option<Entry> = None;
    loop {
        let stretch = scope.lists.lock().older(state, last.as_ref().map(Entry::place), before, STRETCH);
        for entry in &stretch {
            if !with(entry) {
                return;
            }
        }
        if stretch.len() < STRETCH {
            return;
        }
        last = stretch.into_iter().next_back();
    }
}

pub(super) fn orphan(node: &MemoryNode) -> Orphan {
    Orphan { scope: node.scope.scope.clone(), id: node.id.clone() }
}

impl MemoryStore {
    /// Removes a task from all tables. The caller holds the lock of the task. Returns `false` if the task is already
    /// deleted or not yet created.
    fn remove(&self, node: &Arc<MemoryNode>, head: &mut Head) -> bool {
        if head.deleted || head.sequence == 0 {
            return false;
        }
        head.hooks().iter().for_each(|hook| self.outbox.forget(node, hook));
        head.deleted = true;
        if !head.released {
            self.work.forget(node);
        }
        self.retention.forget(head);
        self.forget(node, head);
        true
    }

    /// Removes a deleted task from the tables.
    pub(super) fn forget(&self, node: &Arc<MemoryNode>, head: &mut Head) {
        self.tables.unlist(node, head.state, node.place(head));
        node.forget_messages();
        self.tables.remove_task(node);
        self.tables.tidy_scope(&node.scope);
        self.retention.removed();
        head.clear();
    }
}
