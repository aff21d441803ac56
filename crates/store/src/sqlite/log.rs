//! What the writer tells of the write-ahead log: how much is in it, and whether anything was committed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
};

use rusqlite::{Connection, hooks::Wal};

/// Pages in the log from which on it is worth moving them: 8 MiB.
const ENOUGH: i32 = 2_048;

/// The log of an open database. There is one writer, and all that commits goes over its connection.
pub(super) struct Log {
    /// Pages in it after the last commit, or what the last checkpoint left.
    pages: AtomicI32,
    /// Commits that were begun, and the last of these that is over.
    begun: AtomicU64,
    over: AtomicU64,
    /// Whether it is to be emptied: something was deleted that is still in it.
    empties: AtomicBool,
}

impl Log {
    /// That of a connection which begins to write; or of none, where another process writes or there is no log.
    pub(super) fn new(is_there: bool) -> Self {
        let pages = AtomicI32::new(if is_there { 0 } else { i32::MAX });
        Self { pages, begun: AtomicU64::new(0), over: AtomicU64::new(0), empties: AtomicBool::new(false) }
    }

    /// Hears of all that this connection commits.
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

    /// To be called by the writer when no commit is under way: one that failed or changed nothing is not heard of
    /// again.
    pub(super) fn settle(&self) {
        self.over.store(self.begun.load(Ordering::Relaxed), Ordering::Release);
    }

    /// The number of the last commit; `None` while one is under way, of which one reader may see and another not.
    pub(super) fn last_commit(&self) -> Option<u64> {
        let begun = self.begun.load(Ordering::Acquire);
        (self.over.load(Ordering::Acquire) == begun).then_some(begun)
    }

    /// Whether it is worth moving into the database.
    pub(super) fn is_long(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= ENOUGH
    }

    /// Takes note of what a checkpoint could not move.
    pub(super) fn shorten(&self, left: i32) {
        self.pages.store(left, Ordering::Relaxed);
    }

    pub(super) fn empties(&self) -> bool {
        self.empties.load(Ordering::Acquire)
    }

    pub(super) fn set_empties(&self, empties: bool) {
        self.empties.store(empties, Ordering::Release);
    }

    /// Whether a reader may keep its place in the log for a moment: not while the log is to be moved, which has to wait
    /// for it.
    pub(super) fn may_be_held(&self) -> bool {
        !self.is_long() && !self.empties()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_from_its_begin_and_no_other_is_the_last_until_it_is_over() {
        let mut connection = Connection::open_in_memory().unwrap();
        let log = Arc::new(Log::new(true));
        log.listen(&mut connection).unwrap();
        assert_eq!(log.last_commit(), Some(0));
        // There is no log in memory, so that the end of it is not heard of.
        connection.execute_batch("CREATE TABLE t (c)").unwrap();
        assert_eq!(log.last_commit(), None);
        log.settle();
        assert_eq!(log.last_commit(), Some(1));
    }
}
