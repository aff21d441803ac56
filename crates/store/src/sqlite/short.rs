//! Short reads, on the thread that asks: handing one to another thread and back costs more than the read itself.
//!
//! A thread of the runtime must not wait, and here is why it hardly does:
//!
//! - What is read here is one row of at most a page, by its key: some microseconds. A task of more than its row is read
//!   by the reader threads.
//! - No lock is waited for: where the database is locked or no connection is free, the reader threads read.
//! - What is left is the disk, for pages that are in no cache. Waiting is counted, and when it takes more than a small
//!   share of the time, the reader threads read until that is made up for.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::{connection, options::SqliteOptions};

/// A read that takes longer has waited: for the disk, or for its turn on the processor.
const LONG: Duration = Duration::from_micros(200);

/// One part in so many of the time may go by with waiting.
const SHARE: u32 = 20;

/// How much waiting is let pass before it counts. A thread that lost the processor for a moment is no reason to read
/// elsewhere.
const ALLOWANCE: Duration = Duration::from_millis(20);

/// Connections for short reads, on whatever thread.
pub(super) struct ShortReads {
    /// Those that nobody uses; `None` when it is closed.
    idle: Mutex<Option<Vec<Connection>>>,
    begun: Instant,
    /// When all waiting is made up for, in microseconds since `begun`.
    made_up: AtomicU64,
}

impl ShortReads {
    /// Opens a connection for each thread that can run, as far as the options allow as many readers.
    pub(super) fn open(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let connections = (0..threads.min(options.readers.max(1))).map(|_| {
            let connection = connection::for_reading(path, options)?;
            connection.busy_timeout(Duration::ZERO)?;
            Ok(connection)
        });
        let idle = connections.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(Self { idle: Mutex::new(Some(idle)), begun: Instant::now(), made_up: AtomicU64::new(0) })
    }

    /// Reads at once, outside a transaction: what a single statement sees is of one moment. `None` when it is to be read
    /// by a thread that may wait.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Connection) -> Option<R>) -> Option<R> {
        let begun = Instant::now();
        if self.made_up.load(Ordering::Relaxed) > self.microsecond(begun + ALLOWANCE * SHARE) {
            return None;
        }
        let connection = self.idle.lock().as_mut()?.pop()?;
        let found = read(&connection);
        if let Some(idle) = self.idle.lock().as_mut() {
            idle.push(connection);
        }
        let waited = begun.elapsed();
        if waited > LONG {
            self.make_up_for(begun, waited);
        }
        found
    }

    fn make_up_for(&self, begun: Instant, waited: Duration) {
        let (begun, waited) = (self.microsecond(begun), microseconds(waited * SHARE));
        let later = |made_up: u64| made_up.max(begun).saturating_add(waited);
        self.made_up.update(Ordering::Relaxed, Ordering::Relaxed, later);
    }

    /// Reads nothing from now on.
    pub(super) fn close(&self) {
        // Closing a connection may take a moment, which nobody who reads is to wait for.
        let idle = self.idle.lock().take();
        drop(idle);
    }

    fn microsecond(&self, at: Instant) -> u64 {
        microseconds(at.saturating_duration_since(self.begun))
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(readers: usize) -> (tempfile::TempDir, ShortReads) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tasks.db");
        Connection::open(&path).unwrap();
        let options = SqliteOptions::new().with_readers(readers);
        let reads = ShortReads::open(&path, &options).unwrap();
        (directory, reads)
    }

    fn is_made(reads: &ShortReads) -> bool {
        reads.read(|_| Some(())).is_some()
    }

    #[test]
    fn waiting_takes_a_share_of_the_time_and_then_other_threads_read() {
        let (_directory, reads) = reads(1);
        let begun = Instant::now();
        let mut waited = Duration::ZERO;
        let wait = || {
            let begun = Instant::now();
            while begun.elapsed() < ALLOWANCE / 4 {}
            Some(begun.elapsed())
        };
        while let Some(another) = reads.read(|_| wait()) {
            waited += another;
            assert!(begun.elapsed() < Duration::from_secs(10), "it is never enough");
        }
        assert!(waited > ALLOWANCE, "{waited:?}");
        while !is_made(&reads) {
            assert!(begun.elapsed() < waited * SHARE + Duration::from_secs(10), "it is never made up for");
            thread::yield_now();
        }
        assert!(begun.elapsed() > waited.saturating_sub(ALLOWANCE) * SHARE);
    }

    #[test]
    fn a_connection_serves_one_read_at_a_time_and_none_once_it_is_closed() {
        let (_directory, reads) = reads(1);
        let inner = reads.read(|_| Some(is_made(&reads)));
        assert_eq!(inner, Some(false));
        assert!(is_made(&reads));
        reads.close();
        assert!(!is_made(&reads));
    }
}
