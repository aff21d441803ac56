//! Tasks that somebody is at work on, and those that somebody should be.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use nuncio_model::{TaskId, TaskState};
use parking_lot::Mutex;

use super::{
    EPOCH, MemoryStore,
    node::{Head, Node},
    upkeep::orphan,
};
use crate::store::{AtWork, AtWorkPage, Orphan};

/// The tasks that were not let go of. Nearly all begin and end in one commit, and are never here.
#[derive(Default)]
pub(super) struct Work(Mutex<BTreeMap<TaskId, Arc<Node>>>);

impl Work {
    /// Notes what a commit did. Called under the task's lock.
    pub(super) fn changed(&self, node: &Arc<Node>, was_at_work: bool, head: &Head) {
        match (was_at_work, !head.released) {
            (false, true) => drop(self.0.lock().insert(node.id.clone(), Arc::clone(node))),
            (true, false) => self.forget(node),
            _ => {}
        }
    }

    /// The task is gone, or was let go of.
    pub(super) fn forget(&self, node: &Node) {
        self.0.lock().remove(&node.id);
    }

    /// Those whose ids come after this one, by id.
    fn after(&self, last: Option<&TaskId>, limit: usize) -> Vec<Arc<Node>> {
        let from = last.map_or(Unbounded, Excluded);
        self.0.lock().range::<TaskId, _>((from, Unbounded)).take(limit).map(|(_, node)| Arc::clone(node)).collect()
    }
}

/// A page of the tasks at work, by id.
pub(super) fn at_work(store: &MemoryStore, after: Option<&str>, limit: usize) -> AtWorkPage {
    let nodes = store.work.after(after.map(TaskId::from).as_ref(), limit);
    let next = nodes.last().filter(|_| nodes.len() == limit).map(|node| node.id.as_str().into());
    let at_work = |node: &Arc<Node>| {
        let head = node.head.lock();
        let scope = node.scope.scope.clone();
        let task = AtWork { scope, id: node.id.clone(), epoch: EPOCH, sequence: head.sequence };
        (!head.deleted && !head.released).then_some(task)
    };
    AtWorkPage { tasks: nodes.iter().filter_map(at_work).collect(), next }
}

/// Tasks that nobody is at work on though they are neither parked nor ended, oldest first.
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
