//! Options of an SQLite database.

use std::time::Duration;

/// When a commit reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// With the next checkpoint of the log. A crash of the process loses nothing. A crash of the machine can lose the
    /// last commits, but the database stays consistent.
    #[default]
    Normal,
    /// Before the commit is acknowledged. Costs one `fsync` per group of commits.
    Full,
}

/// Settings of a [`SqliteStore`](super::SqliteStore).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// When a commit reaches the disk. Default: [`Synchronous::Normal`].
    pub synchronous: Synchronous,
    /// The memory for cached recent tasks, in bytes. Reading a cached task needs no query. Default: 64 MiB; 0 disables
    /// the cache.
    pub cache: u64,
    /// The maximum number of concurrent reads. Further reads wait. Default: 4.
    pub readers: usize,
    /// The maximum number of reads that wait or are in progress. Further callers wait for a free place. Default:
    /// 16,384.
    pub read_queue: usize,
    /// The maximum number of commits that wait for the writer. Further callers wait for a free place. Default: 1024.
    pub queue: usize,
    /// How long a write waits while another program has locked the database, for example a backup program. Default: 5
    /// s.
    pub busy_timeout: Duration,
    /// How long the records of a task are kept after the task has ended or was parked. During this time, a reader that
    /// lost its connection can continue at its last record. A later reader loads the task instead. Default: 10 min.
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
    /// Returns the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when a commit reaches the disk.
    pub fn with_synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets the memory for cached recent tasks, in bytes.
    pub fn with_cache(mut self, bytes: u64) -> Self {
        self.cache = bytes;
        self
    }

    /// Sets the maximum number of concurrent reads, at least 1.
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// Sets the maximum number of reads that wait or are in progress, at least 1.
    pub fn with_read_queue(mut self, reads: usize) -> Self {
        self.read_queue = reads.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Sets the maximum number of commits that wait for the writer, at least 1.
    pub fn with_queue(mut self, commits: usize) -> Self {
        self.queue = commits.max(1);
        self
    }

    /// Sets how long a write waits for another program.
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets how long the records of a task are kept after the task has ended or was parked.
    pub fn with_log_retention(mut self, retention: Duration) -> Self {
        self.log_retention = retention;
        self
    }
}
