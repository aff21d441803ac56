//! Housekeeping: what is old goes, and so does what is to be forgotten.
//!
//! Every scope has its tasks by state and time already, so what is old is found there, a stretch at a time: no lock is
//! held for longer than that takes.

use std::sync::Arc;

use nuncio_model::{TaskId, TaskState, Timestamp};

use super::{
    MemoryStore,
    hooks::Hook,
    node::{Head, Node},
    order::{Entry, Moment},
    tables::ScopeLists,
};
use crate::store::{Erase, Orphan, Purge, ScanPage, Scanned, StoreError, Unreadable};

/// Entries that are looked at under one lock.
const STRETCH: usize = 256;

/// Deletes what is old.
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

/// Tasks that are parked for long.
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

/// Deletes tasks, whatever their state.
pub(super) fn erase(store: &MemoryStore, erase: &Erase) -> usize {
    let mut deleted = 0;
    let mut remove = |node: &Arc<Node>| deleted += usize::from(store.remove(node, &mut node.head.lock()));
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

/// A page of all tasks: by shard of the table, and there in its order.
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
            // Without an id it is the shard's beginning.
            let last = last.as_ref().map_or("", |last| last.as_str());
            page.next = Some(format!("{shard}:{last}").into());
            return Ok(page);
        }
    }
}

fn add(page: &mut ScanPage, node: &Arc<Node>) {
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

/// Drops logs that were kept.
pub(super) fn compact(store: &MemoryStore, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let before = Moment::from(before);
    let mut compacted = 0;
    // Those that may not go yet, or again, stand at the end then.
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

/// Calls `with` for each entry of a state before a moment, oldest first, until it says `false`.
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

pub(super) fn orphan(node: &Node) -> Orphan {
    Orphan { scope: node.scope.scope.clone(), id: node.id.clone() }
}

impl MemoryStore {
    /// Takes a task out of everything. Called under its lock. `false` when it is gone already, or not there yet.
    fn remove(&self, node: &Arc<Node>, head: &mut Head) -> bool {
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

    /// Takes a task that is gone out of the tables.
    pub(super) fn forget(&self, node: &Arc<Node>, head: &mut Head) {
        self.tables.unlist(node, head.state, node.place(head));
        node.forget_messages();
        self.tables.remove_task(node);
        self.tables.tidy_scope(&node.scope);
        self.retention.removed();
        head.clear();
    }
}
