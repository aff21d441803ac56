//! The state of the write-ahead log: its length, and the number of the last commit.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
};

use rusqlite::{Connection, hooks::Wal};

/// The length of the log, in pages, from which a checkpoint is worth its cost: 8 MiB.
const ENOUGH: i32 = 2_048;

/// The log of an open database. All commits use the one connection of the writer.
pub(super) struct Log {
    /// The number of pages in the log after the last commit or after the last checkpoint.
    pages: AtomicI32,
    /// The number of commits that began, and the number of the last finished commit.
    begun: AtomicU64,
    over: AtomicU64,
    /// Whether the log must be emptied, because it still contains deleted data.
    must_be_emptied: AtomicBool,
}

impl Log {
    /// `is_there` is false if another process writes or if the database has no log.
    pub(super) fn new(is_there: bool) -> Self {
        let pages = AtomicI32::new(if is_there { 0 } else { i32::MAX });
        Self { pages, begun: AtomicU64::new(0), over: AtomicU64::new(0), must_be_emptied: AtomicBool::new(false) }
    }

    /// Registers hooks for all commits of this connection.
    pub(super) fn listen(self: &Arc<Self>, writing: &mut Connection) -> rusqlite::Result<()> {
        let log = Arc::clone(self);
        writing.commit_hook(Some(move || {
            log.begun.fetch_add(1, Ordering::AcqRel);
            false
        }))?;
        let log = Arc::clone(self);
        writing.wal_hook(Some(move |_: &mut Wal, pages| {
            log.pages.store(pages, Ordering::Relaxed);
            log.settle();
            Ok(())
        }))
    }

    /// Must be called by the writer when no commit is in progress: SQLite does not report the end of a commit that
    /// failed or changed nothing.
    pub(super) fn settle(&self) {
        self.over.store(self.begun.load(Ordering::Relaxed), Ordering::Release);
    }

    /// The number of the last commit; `None` while a commit is in progress, because some readers may see this commit
    /// and others may not.
    pub(super) fn last_commit(&self) -> Option<u64> {
        let begun = self.begun.load(Ordering::Acquire);
        (self.over.load(Ordering::Acquire) == begun).then_some(begun)
    }

    /// Whether the log is long enough to be moved into the database.
    pub(super) fn is_long(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= ENOUGH
    }

    /// Sets the number of pages that a checkpoint could not move.
    pub(super) fn shorten(&self, left: i32) {
        self.pages.store(left, Ordering::Relaxed);
    }

    pub(super) fn must_be_emptied(&self) -> bool {
        self.must_be_emptied.load(Ordering::Acquire)
    }

    pub(super) fn set_must_be_emptied(&self, must_be_emptied: bool) {
        self.must_be_emptied.store(must_be_emptied, Ordering::Release);
    }

    /// Whether a reader may keep its transaction open for a moment. Not while the log must be moved or emptied, because
    /// this work waits for the readers of the log.
    pub(super) fn may_stay_open(&self) -> bool {
        !self.is_long() && !self.must_be_emptied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_commit_is_unknown_while_a_commit_is_in_progress() {
        let mut connection = Connection::open_in_memory().unwrap();
        let log = Arc::new(Log::new(true));
        log.listen(&mut connection).unwrap();
        assert_eq!(log.last_commit(), Some(0));
        // A database in memory has no log, so SQLite does not report the end of a commit.
        connection.execute_batch("CREATE TABLE t (c)").unwrap();
        assert_eq!(log.last_commit(), None);
        log.settle();
        assert_eq!(log.last_commit(), Some(1));
    }
}
