//! Evicts tasks above the limit, and finds logs of tasks at rest.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;

use super::{
    line::Line,
    node::{Head, MemoryNode},
};

/// The number of tasks that are checked for each new task. Eviction keeps up with creation, and no call takes long.
const LOOKS: usize = 4;

/// Counts tasks, and stores the order of their releases.
pub(super) struct MemoryRetention {
    limit: Option<usize>,
    count: AtomicUsize,
    /// Ended tasks, interrupted tasks, and released tasks that have a log. Entries of other tasks are skipped.
    lines: Mutex<[Line; 3]>,
}

const ENDED: usize = 0;
const PARKED: usize = 1;
const LOGS: usize = 2;

impl MemoryRetention {
    pub(super) fn new(limit: Option<usize>) -> Self {
        Self { limit, count: AtomicUsize::new(0), lines: Mutex::default() }
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

    /// Adds a released task. The caller holds the lock of the task.
    pub(super) fn released(&self, node: &Arc<MemoryNode>, head: &mut Head) {
        if self.limit.is_some() {
            self.line_up(if head.state.is_terminal() { ENDED } else { PARKED }, node, head);
        }
        if head.has_log() {
            self.line_up(LOGS, node, head);
        }
    }

    fn line_up(&self, line: usize, node: &Arc<MemoryNode>, head: &mut Head) {
        let mark = 1 << line;
        if head.queued & mark == 0 {
            head.queued |= mark;
            self.lines.lock()[line].push(Arc::clone(node));
        }
    }

    /// Removes a deleted task. The caller holds the lock of the task.
    pub(super) fn forget(&self, head: &Head) {
        if head.queued != 0 {
            let mut lines = self.lines.lock();
            (0..lines.len()).filter(|line| head.queued & (1 << line) != 0).for_each(|line| lines[line].one_is_gone());
        }
    }

    /// Takes the next task to evict, if there is one: the task that ended first, or else the task that was interrupted
    /// first. The task is marked as deleted, and its lock is released.
    pub(super) fn evict(&self, take: impl Fn(&Arc<MemoryNode>, &mut Head)) {
        for line in [ENDED, PARKED] {
            for _ in 0..LOOKS {
                let Some(node) = self.lines.lock()[line].pop() else { break };
                let mut head = node.head.lock();
                head.queued &= !(1 << line);
                let belongs = head.released && head.state.is_terminal() == (line == ENDED);
                if !belongs || head.deleted {
                    continue;
                }
                if head.has_pending() {
                    self.released(&node, &mut head);
                    continue;
                }
                head.deleted = true;
                self.forget(&head);
                take(&node, &mut head);
                return;
            }
        }
    }

    /// The number of tasks at rest that may have a log.
    pub(super) fn logs(&self) -> usize {
        self.lines.lock()[LOGS].len()
    }

    /// Takes the next task of them.
    pub(super) fn next_log(&self) -> Option<Arc<MemoryNode>> {
        let node = self.lines.lock()[LOGS].pop()?;
        node.head.lock().queued &= !(1 << LOGS);
        Some(node)
    }
}
