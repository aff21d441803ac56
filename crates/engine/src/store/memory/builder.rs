//! The settings of a store in memory.

use super::{MemoryStore, node::LogPolicy, retention::MemoryRetention};

/// Builds a [`MemoryStore`]. [`MemoryStore::builder`] creates the builder.
#[derive(Debug, Clone)]
pub struct MemoryStoreBuilder {
    keep_log: bool,
    log_limit: usize,
    max_tasks: Option<usize>,
}

impl MemoryStoreBuilder {
    pub(super) fn new() -> Self {
        Self { keep_log: false, log_limit: 65_536, max_tasks: Some(1_000_000) }
    }

    /// Whether the store keeps the records of ended tasks, up to the limit. Off by default, so that an ended task takes
    /// only the memory of its result. Some tests need the records.
    pub fn keep_log(mut self, keep_log: bool) -> Self {
        self.keep_log = keep_log;
        self
    }

    /// The number of records of a running task, or of a task with a pending push notification, that the store keeps.
    /// The default is 65,536. Reading older records fails with `Compacted`.
    pub fn log_limit(mut self, records: usize) -> Self {
        self.log_limit = records;
        self
    }

    /// The number of tasks that the store keeps. The default is 1,000,000 (about 1 KB per small task). `None` means no
    /// limit.
    ///
    /// Above the limit, the store evicts ended tasks, in the order of their ends. If no task has ended, the store
    /// evicts interrupted tasks, in the order of their interruptions. Running tasks and tasks with pending push
    /// notifications are never evicted, so the number can exceed the limit.
    pub fn max_tasks(mut self, max_tasks: Option<usize>) -> Self {
        self.max_tasks = max_tasks;
        self
    }

    /// Builds the store.
    pub fn build(self) -> MemoryStore {
        let logs = LogPolicy { keep: self.keep_log, limit: self.log_limit.max(1) };
        MemoryStore::with(logs, MemoryRetention::new(self.max_tasks))
    }
}
