//! What is kept in memory for readers, of all tasks together: the ends of their logs, and what readers have taken and
//! not passed on.
//!
//! Where it is too much, nobody is refused and nobody waits. Readers that are far behind find their events in the
//! store, and whoever takes more takes little at a time.

use std::{
    cmp::Reverse,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;

use crate::{
    live::{Backlog, Live},
    shared::Shared,
    store::Portion,
};

/// What a reader takes at a time where all have taken much. So much, or one event, is not counted.
const LITTLE: usize = 4 * 1024;

/// Counts bytes: half of what there may be for the ends of logs, half for readers.
pub(crate) struct Kept {
    half: usize,
    tails: AtomicUsize,
    taken: AtomicUsize,
    /// Up to where the ends of logs may grow before some are cut; half, unless what there is cannot be cut.
    bound: AtomicUsize,
    /// Held by who cuts. Others wait, or they would add to it meanwhile.
    cutting: Mutex<()>,
}

impl Kept {
    /// Counts what may be so many bytes.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let half = most / 2;
        let bound = AtomicUsize::new(half);
        Arc::new(Self { half, tails: AtomicUsize::new(0), taken: AtomicUsize::new(0), bound, cutting: Mutex::new(()) })
    }

    /// How many bytes are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.tails.load(Relaxed) + self.taken.load(Relaxed)
    }

    pub(crate) fn add_to_tails(&self, bytes: usize) {
        self.tails.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn take_from_tails(&self, bytes: usize) {
        self.tails.fetch_sub(bytes, Relaxed);
    }

    /// What a reader may take at a time that would take this.
    pub(crate) fn portion(&self, most: Portion) -> Portion {
        let has_room = self.taken.load(Relaxed) < self.half;
        if has_room { most } else { Portion { bytes: LITTLE.min(most.bytes), ..most } }
    }

    /// Whether the ends of logs have grown over their bound, which goes back to half once they are within that.
    fn is_over(&self) -> bool {
        let tails = self.tails.load(Relaxed);
        if tails <= self.half && self.bound.load(Relaxed) > self.half {
            self.bound.store(self.half, Relaxed);
        }
        tails > self.bound.load(Relaxed)
    }
}

/// What one reader has taken and not passed on.
pub(crate) struct Taken {
    kept: Arc<Kept>,
    bytes: usize,
}

impl Taken {
    /// Nothing yet.
    pub(crate) fn new(kept: &Arc<Kept>) -> Self {
        Self { kept: Arc::clone(kept), bytes: 0 }
    }

    pub(crate) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// It is this now.
    pub(crate) fn is(&mut self, bytes: usize) {
        let bytes = if bytes <= LITTLE { 0 } else { bytes };
        if bytes > self.bytes {
            self.kept.taken.fetch_add(bytes - self.bytes, Relaxed);
        } else if bytes < self.bytes {
            self.kept.taken.fetch_sub(self.bytes - bytes, Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.is(0);
    }
}

impl Shared {
    /// Cuts the longest ends of logs where all together are too long, to half of what they may be: so a look at all
    /// tasks is paid for by many events. Their readers go on in the store.
    pub(crate) fn keep_within_bounds(&self) {
        let kept = &self.kept;
        if !kept.is_over() {
            return;
        }
        let _alone = kept.cutting.lock();
        if !kept.is_over() {
            // Somebody has cut meanwhile.
            return;
        }
        let with_bytes = |live: Arc<Live>| {
            let bytes = live.lock().backlog().bytes;
            (bytes > 0).then_some((bytes, live))
        };
        let mut tails: Vec<_> = self.registry.all().into_iter().filter_map(with_bytes).collect();
        tails.sort_unstable_by_key(|(bytes, _)| Reverse(*bytes));
        for (_, live) in tails {
            if kept.tails.load(Relaxed) <= kept.half / 2 {
                break;
            }
            live.lock().leave_behind(Backlog { records: 0, bytes: 0 });
        }
        let rest = kept.tails.load(Relaxed);
        kept.bound.store(kept.half.max(rest.saturating_add(kept.half / 4)), Relaxed);
    }
}
