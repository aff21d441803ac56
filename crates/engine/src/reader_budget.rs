//! The memory that all tasks together use for their readers: the tails of their logs, and the records that readers have
//! read and not passed on.
//!
//! If the budget is exceeded, no reader is refused and no writer waits. Slow readers are evicted: they read from the
//! store. Other readers read small portions.

use std::{
    cmp::Reverse,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use crate::{
    live::{Backlog, LiveTask},
    shared::Shared,
    store::Portion,
};

/// The bytes that a reader reads at a time if the budget of readers is exhausted. Reservations of this size, or of one
/// event, are not counted.
const LITTLE: usize = 4 * 1024;

/// Counts bytes. One half of the budget is for the tails of logs, the other half is for readers.
pub(crate) struct ReaderBudget {
    half: usize,
    tails: AtomicUsize,
    readers: AtomicUsize,
    /// The bytes of tails above which readers are evicted. This is `half`, or more if readers cannot be evicted.
    bound: AtomicUsize,
    /// Locked during an eviction. Other writers wait, because they would add to the tails meanwhile.
    evicting: Mutex<()>,
}

impl ReaderBudget {
    /// A budget of `most` bytes.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let half = most / 2;
        let bound = AtomicUsize::new(half);
        let (tails, readers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { half, tails, readers, bound, evicting: Mutex::new(()) })
    }

    /// The bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.tails.load(Relaxed) + self.readers.load(Relaxed)
    }

    /// Counts bytes of a tail. Tails are not refused: readers are evicted afterwards.
    pub(crate) fn reserve_tail(&self, bytes: usize) {
        self.tails.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn release_tail(&self, bytes: usize) {
        self.tails.fetch_sub(bytes, Relaxed);
    }

    /// The portion that a reader can read at a time instead of `most`.
    pub(crate) fn portion(&self, most: Portion) -> Portion {
        let has_room = self.readers.load(Relaxed) < self.half;
        if has_room { most } else { Portion { bytes: LITTLE.min(most.bytes), ..most } }
    }

    /// Whether the tails exceed their bound. The bound returns to `half` when the tails are within `half`.
    fn is_exceeded(&self) -> bool {
        let tails = self.tails.load(Relaxed);
        if tails <= self.half && self.bound.load(Relaxed) > self.half {
            self.bound.store(self.half, Relaxed);
        }
        tails > self.bound.load(Relaxed)
    }
}

/// The bytes that one reader has read and not passed on.
pub(crate) struct Reservation {
    budget: Arc<ReaderBudget>,
    bytes: usize,
}

impl Reservation {
    /// An empty reservation.
    pub(crate) fn new(budget: &Arc<ReaderBudget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    pub(crate) fn budget(&self) -> &ReaderBudget {
        &self.budget
    }

    /// Reserves this number of bytes in place of the previous number.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        let bytes = if bytes <= LITTLE { 0 } else { bytes };
        if bytes > self.bytes {
            self.budget.readers.fetch_add(bytes - self.bytes, Relaxed);
        } else if bytes < self.bytes {
            self.budget.readers.fetch_sub(self.bytes - bytes, Relaxed);
        }
        self.bytes = bytes;
    }

    /// Returns all bytes to the budget.
    pub(crate) fn release(&mut self) {
        self.reserve(0);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

impl Shared {
    /// Evicts the readers of the longest tails if the tails exceed their bound. Evictions go on until half of the bound
    /// is free, so that many events pay for one look at all tasks. Evicted readers read from the store.
    pub(crate) fn evict_slow_readers(&self) {
        let budget = &self.reader_budget;
        if !budget.is_exceeded() {
            return;
        }
        let _alone = budget.evicting.lock();
        if !budget.is_exceeded() {
            // Another writer has evicted readers meanwhile.
            return;
        }
        let with_bytes = |live: Arc<LiveTask>| {
            let bytes = live.lock().backlog().bytes;
            (bytes > 0).then_some((bytes, live))
        };
        let mut tails: Vec<_> = self.registry.all().into_iter().filter_map(with_bytes).collect();
        tails.sort_unstable_by_key(|(bytes, _)| Reverse(*bytes));
        for (_, live) in tails {
            if budget.tails.load(Relaxed) <= budget.half / 2 {
                break;
            }
            live.lock().evict_readers(Backlog { records: 0, bytes: 0 });
        }
        let rest = budget.tails.load(Relaxed);
        budget.bound.store(budget.half.max(rest.saturating_add(budget.half / 4)), Relaxed);
    }
}
