//! Running tasks, and tasks that must be recovered.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use nuncio_model::{TaskId, TaskState};
use parking_lot::Mutex;

use super::{
    EPOCH, MemoryStore,
    node::{Head, MemoryNode},
    upkeep::orphan,
};
use crate::store::{AtWork, AtWorkPage, Orphan};

/// The tasks that were not released. Most tasks are created and end in one commit, and are never here.
#[derive(Default)]
pub(super) struct Work(Mutex<BTreeMap<TaskId, Arc<MemoryNode>>>);

impl Work {
    /// Applies a commit. The caller holds the lock of the task.
    pub(super) fn changed(&self, node: &Arc<MemoryNode>, was_at_work: bool, head: &Head) {
        match (was_at_work, !head.released) {
            (false, true) => drop(self.0.lock().insert(node.id.clone(), Arc::clone(node))),
            (true, false) => self.forget(node),
            _ => {}
        }
    }

    /// The task was deleted or released.
    pub(super) fn forget(&self, node: &MemoryNode) {
        self.0.lock().remove(&node.id);
    }

    /// The tasks after this id, by id.
    fn after(&self, last: Option<&TaskId>, limit: usize) -> Vec<Arc<MemoryNode>> {
        let from = last.map_or(Unbounded, Excluded);
        self.0.lock().range::<TaskId, _>((from, Unbounded)).take(limit).map(|(_, node)| Arc::clone(node)).collect()
    }
}

/// A page of the running tasks, by id.
pub(super) fn at_work(store: &MemoryStore, after: Option<&str>, limit: usize) -> AtWorkPage {
    let nodes = store.work.after(after.map(TaskId::from).as_ref(), limit);
    let next = nodes.last().filter(|_| nodes.len() == limit).map(|node| node.id.as_str().into());
    let at_work = |node: &Arc<MemoryNode>| {
        let head = node.head.lock();
        let scope = node.scope.scope.clone();
        let task = AtWork { scope, id: node.id.clone(), epoch: EPOCH, sequence: head.sequence };
        (!head.deleted && !head.released).then_some(task)
    };
    AtWorkPage { tasks: nodes.iter().filter_map(at_work).collect(), next }
}

/// Running tasks without a runner, oldest first.
pub(super) fn orphans(store: &MemoryStore, limit: usize) -> Vec<Orphan> {
    let mut orphans = Vec::new();
    for scope in store.tables.scopes(|_| true) {
        let lists = scope.lists.lock();
        for state in [TaskState::Submitted, TaskState::Working] {
            orphans.extend(lists.page(Some(state), None, None, usize::MAX));
        }
    }
    orphans.retain(|entry| {
        let head = entry.node.head.lock();
        !head.deleted && head.released && !head.state.is_terminal() && !head.state.is_interrupted()
    });
    orphans.sort_by(|one, two| one.place().cmp(&two.place()));
    orphans.iter().take(limit).map(|entry| orphan(&entry.node)).collect()
}
