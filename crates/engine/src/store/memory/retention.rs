//! Which tasks go when there are too many, and whose logs are kept while they rest.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;

use super::{
    line::Line,
    node::{Head, Node},
};

/// How many tasks are looked at for one that comes: eviction keeps pace with creation and stalls nobody.
const LOOKS: usize = 4;

/// Counts tasks, and remembers in which order they were let go of.
pub(super) struct Retention {
    limit: Option<usize>,
    count: AtomicUsize,
    /// Tasks that have ended, tasks that are parked, and all of them that have a log. An entry whose task does not
    /// belong there any more is passed over.
    lines: Mutex<[Line; 3]>,
}

const ENDED: usize = 0;
const PARKED: usize = 1;
const LOGS: usize = 2;

impl Retention {
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

    /// Notes that a task was let go of. Called under its lock.
    pub(super) fn released(&self, node: &Arc<Node>, head: &mut Head) {
        if self.limit.is_some() {
            self.line_up(if head.state.is_terminal() { ENDED } else { PARKED }, node, head);
        }
        if head.has_log() {
            self.line_up(LOGS, node, head);
        }
    }

    fn line_up(&self, line: usize, node: &Arc<Node>, head: &mut Head) {
        let mark = 1 << line;
        if head.queued & mark == 0 {
            head.queued |= mark;
            self.lines.lock()[line].push(Arc::clone(node));
        }
    }

    /// Notes that a task is gone. Called under its lock.
    pub(super) fn forget(&self, head: &Head) {
        if head.queued != 0 {
            let mut lines = self.lines.lock();
            (0..lines.len()).filter(|line| head.queued & (1 << line) != 0).for_each(|line| lines[line].one_is_gone());
        }
    }

    /// Takes the task that should go first, if there is one: of those that ended the one that ended first, else the one
    /// that is parked for longest. It is marked as gone; its lock is not held.
    pub(super) fn evict(&self, take: impl Fn(&Arc<Node>, &mut Head)) {
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

    /// How many tasks may have a log that was kept.
    pub(super) fn logs(&self) -> usize {
        self.lines.lock()[LOGS].len()
    }

    /// Takes the next of them.
    pub(super) fn next_log(&self) -> Option<Arc<Node>> {
        let node = self.lines.lock()[LOGS].pop()?;
        node.head.lock().queued &= !(1 << LOGS);
        Some(node)
    }
}
