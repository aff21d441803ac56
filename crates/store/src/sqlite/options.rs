//! What can be set when a database is opened.

use std::time::Duration;

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// With the next checkpoint of the log. A crash of the process loses nothing; one of the machine may lose the last
    /// moments, never consistency.
    #[default]
    Normal,
    /// When it is acknowledged. Costs an `fsync` per group of commits.
    Full,
}

/// Settings of a [`SqliteStore`](super::SqliteStore).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// When a commit is on the disk. [`Synchronous::Normal`].
    pub synchronous: Synchronous,
    /// How much memory recent tasks may take, in bytes, so that reading them costs no query. 64 MiB; 0 for none.
    pub cache: u64,
    /// How many reads can be under way at the same time; more wait. 4.
    pub readers: usize,
    /// How many reads can wait for one of them, or be under way; more wait for room. 16,384.
    pub read_queue: usize,
    /// How many commits can wait to be written; more wait for room. 1024.
    pub queue: usize,
    /// How long a write waits while another program, a backup for example, holds the database. 5 s.
    pub busy_timeout: Duration,
    /// How long the records of a task are kept once it has ended or is parked, so that a reader that lost its
    /// connection can go on where it was; whoever comes later reads the task. 10 min.
    pub log_retention: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Normal,
            cache: 64 * 1024 * 1024,
            readers: 4,
            read_queue: 16_384,
            queue: 1024,
            busy_timeout: Duration::from_secs(5),
            log_retention: Duration::from_mins(10),
        }
    }
}

impl SqliteOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when a commit is on the disk.
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets how many bytes of recent tasks are kept in memory.
    pub fn with_cache(mut self, bytes: u64) -> Self {
        self.cache = bytes;
        self
    }

    /// Sets how many reads can be under way at the same time; at least one.
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// Sets how many reads can wait; at least one.
    pub fn with_read_queue(mut self, reads: usize) -> Self {
        self.read_queue = reads.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Sets how many commits can wait to be written; at least one.
    pub fn with_queue(mut self, commits: usize) -> Self {
        self.queue = commits.max(1);
        self
    }

    /// Sets how long a write waits for another program.
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets how long the records of a task are kept once it has ended or is parked.
    pub fn with_log_retention(mut self, retention: Duration) -> Self {
        self.log_retention = retention;
        self
    }
}
