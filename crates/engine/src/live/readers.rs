//! The readers of a live task: where each stands, what is kept for them, and which of them are left behind.

use std::{mem, sync::Arc, task::Waker};

use nuncio_model::Task;

use super::{Backlog, Inner};
use crate::{record::Record, store::Portion};

/// Where a reader of the log stands.
pub(crate) struct Reader {
    /// The last record that it has seen, or does not need.
    pub(crate) cursor: u64,
    pub(crate) waker: Option<Waker>,
    /// Records are not kept here for its sake: it was too slow, and reads from the store until it has caught up.
    left_behind: bool,
    /// It needs the records alone, and never the task.
    is_feed: bool,
}

impl Inner {
    /// Whether more than one reader wants the records; those that wait for an outcome do not.
    pub(super) fn is_read_by_many(&self) -> bool {
        self.readers.iter().filter(|(_, reader)| reader.cursor < u64::MAX).nth(1).is_some()
    }

    /// Whether a reader wants the records.
    pub(crate) fn is_read(&self) -> bool {
        self.readers.iter().any(|(_, reader)| reader.cursor < u64::MAX)
    }

    /// Drops records that every reader has seen.
    pub(super) fn trim(&mut self) {
        let seen = self.slowest().unwrap_or(self.sequence);
        self.tail.drop_until(seen);
    }

    /// The cursor of the slowest reader for whose sake records are kept.
    fn slowest(&self) -> Option<u64> {
        self.readers.iter().filter(|(_, reader)| !reader.left_behind).map(|(_, reader)| reader.cursor).min()
    }

    /// What is kept here that a reader has yet to see.
    pub(crate) fn kept(&mut self) -> Backlog {
        self.trim();
        self.tail.backlog()
    }

    /// What is kept here.
    pub(crate) fn backlog(&self) -> Backlog {
        self.tail.backlog()
    }

    /// Gives up on the readers for whose sake more than this is kept.
    pub(crate) fn leave_behind(&mut self, most: Backlog) {
        let Some(last) = self.tail.last_beyond(most) else { return };
        for (_, reader) in &mut self.readers {
            reader.left_behind |= reader.cursor < last;
        }
        self.trim();
        self.wake_pacer();
    }

    /// A portion of the records after `cursor`, each with what it takes; `None` when the first of them is no longer
    /// here.
    pub(crate) fn records_after(
        &self,
        cursor: u64,
        portion: Portion,
    ) -> Option<impl Iterator<Item = (&Record, usize)>> {
        let first = self.tail.first().unwrap_or(self.sequence + 1);
        let skip = usize::try_from((cursor + 1).checked_sub(first)?).ok()?;
        Some(self.tail.after(skip, portion))
    }

    /// Adds a reader that has seen everything up to `cursor`.
    pub(crate) fn read_from(&mut self, cursor: u64) -> usize {
        self.readers.insert(Reader { cursor, waker: None, left_behind: false, is_feed: false })
    }

    /// Notes how far a reader has come; one that has seen everything is no longer behind.
    pub(crate) fn reader_is_at(&mut self, key: usize, cursor: u64) {
        let reader = &mut self.readers[key];
        reader.cursor = cursor;
        reader.left_behind &= cursor < self.sequence;
        self.wake_pacer();
    }

    /// A reader will never ask for the task, only for records.
    #[must_use = "to be dropped once the lock is gone"]
    pub(crate) fn reader_is_feed(&mut self, key: usize) -> Option<Arc<Task>> {
        self.readers[key].is_feed = true;
        self.shed()
    }

    /// Lets a runner go on that waits for slow readers, if it has waited long enough.
    pub(crate) fn wake_pacer(&mut self) {
        if let Some(pacer) = self.pacer.take() {
            pacer.wake();
        }
    }

    /// Gives up a large task that has ended once nobody is here but readers of its records: it may take them long to
    /// read these. Whoever comes later gets it from the store.
    #[must_use = "to be dropped once the lock is gone"]
    pub(crate) fn shed(&mut self) -> Option<Arc<Task>> {
        let is_idle = self.held.is_some() && self.state().is_terminal() && !self.running && self.has_feeds_alone();
        is_idle.then(|| {
            self.held = None;
            self.is_shed = true;
            let Task { id, context_id, status, .. } = &*self.task;
            let status = nuncio_model::TaskStatus { message: None, ..status.clone() };
            let rest = Task { id: id.clone(), context_id: context_id.clone(), status, ..Task::default() };
            mem::replace(&mut self.task, Arc::new(rest))
        })
    }

    fn has_feeds_alone(&self) -> bool {
        self.readers.len() == self.holders && self.readers.iter().all(|(_, reader)| reader.is_feed)
    }
}
