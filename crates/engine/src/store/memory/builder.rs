//! Settings of a store in memory.

use super::{MemoryStore, node::LogPolicy, retention::Retention};

/// Sets up a [`MemoryStore`]; made by [`MemoryStore::builder`].
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

    /// Whether the records of a task are kept when it has ended, up to the limit. Off by default: a task then costs
    /// what its result costs. A test may want them.
    pub fn keep_log(mut self, keep_log: bool) -> Self {
        self.keep_log = keep_log;
        self
    }

    /// How many of the newest records of a task are kept until it ends and has no pending push notification, 65,536 by
    /// default; whoever asks for older ones is told `Compacted`.
    pub fn log_limit(mut self, records: usize) -> Self {
        self.log_limit = records;
        self
    }

    /// How many tasks are kept, 1,000,000 by default (about 1 KB each where they are small); `None` for as many as
    /// come.
    ///
    /// When there are more, those that ended go, the one that ended first before others; and when none has ended, those
    /// that wait for their client, longest first. A task that runs or has pending push notifications never goes, so there may
    /// be more than this.
    pub fn max_tasks(mut self, max_tasks: Option<usize>) -> Self {
        self.max_tasks = max_tasks;
        self
    }

    /// The store.
    pub fn build(self) -> MemoryStore {
        let logs = LogPolicy { keep: self.keep_log, limit: self.log_limit.max(1) };
        MemoryStore::with(logs, Retention::new(self.max_tasks))
    }
}
