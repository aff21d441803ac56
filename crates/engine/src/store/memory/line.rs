//! Tasks in the order in which they were let go of, without those that are gone.

use std::{collections::VecDeque, sync::Arc};

use super::node::Node;

/// Entries that are looked at for each that is gone.
const LOOKS: usize = 4;

/// A queue. Those that are gone are dropped a few at a time, so that nobody waits for it and they never are the most.
#[derive(Default)]
pub(super) struct Line {
    /// Those that were looked at; they come before the others.
    front: VecDeque<Arc<Node>>,
    rest: VecDeque<Arc<Node>>,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.front.len() + self.rest.len()
    }

    pub(super) fn push(&mut self, node: Arc<Node>) {
        self.rest.push_back(node);
    }

    pub(super) fn pop(&mut self) -> Option<Arc<Node>> {
        self.front.pop_front().or_else(|| self.rest.pop_front())
    }

    /// Takes note that one of them is gone.
    pub(super) fn one_is_gone(&mut self) {
        for _ in 0..LOOKS {
            let Some(node) = self.rest.pop_front() else {
                std::mem::swap(&mut self.front, &mut self.rest);
                return;
            };
            // One that is locked is looked at the next time.
            if node.head.try_lock().is_none_or(|head| !head.deleted) {
                self.front.push_back(node);
            }
        }
    }
}
