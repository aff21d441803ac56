//! The readers of a live task: their cursors, the records in memory for them, and the eviction of slow readers.

use std::{mem, sync::Arc, task::Waker};

use nuncio_model::Task;

use super::{Backlog, LiveState};
use crate::{record::Record, store::Portion};

/// The position of a reader in the log.
pub(crate) struct Reader {
    /// The last record that the reader has read, or does not need.
    pub(crate) cursor: u64,
    pub(crate) waker: Option<Waker>,
    /// The reader was too slow. No records stay in memory for the reader until it has caught up by reading the store.
    evicted: bool,
    /// The reader needs records only, and never the task.
    is_feed: bool,
}

impl LiveState {
    /// Whether more than one reader needs the records. Readers that wait for an outcome do not need records.
    pub(super) fn is_read_by_many(&self) -> bool {
        self.readers.iter().filter(|(_, reader)| reader.cursor < u64::MAX).nth(1).is_some()
    }

    /// Whether a reader needs the records.
    pub(crate) fn is_read(&self) -> bool {
        self.readers.iter().any(|(_, reader)| reader.cursor < u64::MAX)
    }

    /// Drops the records that every reader has read.
    pub(super) fn trim(&mut self) {
        let seen = self.slowest().unwrap_or(self.sequence);
        self.tail.drop_until(seen);
    }

    /// The cursor of the slowest reader that is not evicted.
    fn slowest(&self) -> Option<u64> {
        self.readers.iter().filter(|(_, reader)| !reader.evicted).map(|(_, reader)| reader.cursor).min()
    }

    /// The records in memory that a reader has not read yet.
    pub(crate) fn trimmed_backlog(&mut self) -> Backlog {
        self.trim();
        self.tail.backlog()
    }

    /// The records in memory.
    pub(crate) fn backlog(&self) -> Backlog {
        self.tail.backlog()
    }

    /// Evicts the readers that need more than `most` records in memory.
    pub(crate) fn evict_readers(&mut self, most: Backlog) {
        let Some(last) = self.tail.last_beyond(most) else { return };
        for (_, reader) in &mut self.readers {
            reader.evicted |= reader.cursor < last;
        }
        self.trim();
        self.release_backpressure();
    }

    /// A portion of the records after `cursor`, each with its size; `None` if the first of these records is no longer in
    /// memory.
    pub(crate) fn records_after(
        &self,
        cursor: u64,
        portion: Portion,
    ) -> Option<impl Iterator<Item = (&Record, usize)>> {
        let first = self.tail.first().unwrap_or(self.sequence + 1);
        let skip = usize::try_from((cursor + 1).checked_sub(first)?).ok()?;
        Some(self.tail.after(skip, portion))
    }

    /// Adds a reader that has read everything up to `cursor`.
    pub(crate) fn read_from(&mut self, cursor: u64) -> usize {
        self.readers.insert(Reader { cursor, waker: None, evicted: false, is_feed: false })
    }

    /// Sets the cursor of a reader. A reader that has read everything is no longer evicted.
    pub(crate) fn advance_reader(&mut self, key: usize, cursor: u64) {
        let reader = &mut self.readers[key];
        reader.cursor = cursor;
        reader.evicted &= cursor < self.sequence;
        self.release_backpressure();
    }

    /// Marks a reader as one that needs records only. Returns the task if the task was evicted from memory.
    #[must_use = "drop the task after the lock is released"]
    pub(crate) fn mark_feed(&mut self, key: usize) -> Option<Arc<Task>> {
        self.readers[key].is_feed = true;
        self.evict_task()
    }

    /// Wakes the writer if it waits for slow readers.
    pub(crate) fn release_backpressure(&mut self) {
        if let Some(writer) = self.backpressure.take() {
            writer.wake();
        }
    }

    /// Evicts the content of a large, ended task if all remaining references are readers of records, which can take long.
    /// Later callers load the task from the store.
    #[must_use = "drop the task after the lock is released"]
    pub(crate) fn evict_task(&mut self) -> Option<Arc<Task>> {
        let is_idle =
            self.reserved.is_some() && self.task_state().is_terminal() && !self.running && self.has_feeds_alone();
        is_idle.then(|| {
            self.reserved = None;
            self.is_evicted = true;
            let Task { id, context_id, status, .. } = &*self.task;
            let status = nuncio_model::TaskStatus { message: None, ..status.clone() };
            let rest = Task { id: id.clone(), context_id: context_id.clone(), status, ..Task::default() };
            mem::replace(&mut self.task, Arc::new(rest))
        })
    }

    fn has_feeds_alone(&self) -> bool {
        self.readers.len() == self.references && self.readers.iter().all(|(_, reader)| reader.is_feed)
    }
}
