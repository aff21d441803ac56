//! Released tasks in the order of their release, without deleted tasks.

use std::{collections::VecDeque, sync::Arc};

use super::node::MemoryNode;

/// The entries that are checked for each deleted task.
const LOOKS: usize = 4;

/// A queue. Each deletion checks a few entries and drops deleted tasks, so that no call takes long and most entries are
/// valid.
#[derive(Default)]
pub(super) struct Line {
    /// Checked entries, before the other entries.
    front: VecDeque<Arc<MemoryNode>>,
    rest: VecDeque<Arc<MemoryNode>>,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.front.len() + self.rest.len()
    }

    pub(super) fn push(&mut self, node: Arc<MemoryNode>) {
        self.rest.push_back(node);
    }

    pub(super) fn pop(&mut self) -> Option<Arc<MemoryNode>> {
        self.front.pop_front().or_else(|| self.rest.pop_front())
    }

    /// Counts a deleted task.
    pub(super) fn one_is_gone(&mut self) {
        for _ in 0..LOOKS {
            let Some(node) = self.rest.pop_front() else {
                std::mem::swap(&mut self.front, &mut self.rest);
                return;
            };
            // A locked task is checked later.
            if node.head.try_lock().is_none_or(|head| !head.deleted) {
                self.front.push_back(node);
            }
        }
    }
}
