//! Which tasks go when there are too many.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;

use super::node::{Head, Node};

/// How many tasks are looked at for one that comes: eviction keeps pace with creation and stalls nobody.
const LOOKS: usize = 4;

/// Counts tasks, and remembers in which order they were let go of.
pub(super) struct Retention {
    limit: Option<usize>,
    count: AtomicUsize,
    /// Tasks that have ended, and tasks that are parked. An entry whose task is neither any more is passed over.
    queues: Mutex<[VecDeque<Arc<Node>>; 2]>,
}

const ENDED: usize = 0;
const PARKED: usize = 1;

impl Retention {
    pub(super) fn new(limit: Option<usize>) -> Self {
        Self { limit, count: AtomicUsize::new(0), queues: Mutex::default() }
    }

    pub(super) fn added(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn removed(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.count.load(Ordering::Relaxed) > limit)
    }

    /// Notes that a task was let go of. Called under its lock.
    pub(super) fn released(&self, node: &Arc<Node>, head: &mut Head) {
        if self.limit.is_none() {
            return;
        }
        let queue = if head.state.is_terminal() { ENDED } else { PARKED };
        let mark = 1 << queue;
        if head.queued & mark == 0 {
            head.queued |= mark;
            self.queues.lock()[queue].push_back(Arc::clone(node));
        }
    }

    /// Takes the task that should go first, if there is one: of those that ended the one that ended first, else the one
    /// that is parked for longest. It is marked as gone; its lock is not held.
    pub(super) fn evict(&self, take: impl Fn(&Arc<Node>, &mut Head)) {
        for queue in [ENDED, PARKED] {
            for _ in 0..LOOKS {
                let Some(node) = self.queues.lock()[queue].pop_front() else { break };
                let mut head = node.head.lock();
                head.queued &= !(1 << queue);
                let belongs = head.released && head.state.is_terminal() == (queue == ENDED);
                if !belongs || head.gone {
                    continue;
                }
                if head.hooks().iter().any(super::hooks::Hook::owes) {
                    self.released(&node, &mut head);
                    continue;
                }
                head.gone = true;
                take(&node, &mut head);
                return;
            }
        }
    }
}
