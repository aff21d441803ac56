//! What happens often and is to be logged: who makes it happen must not fill the log.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// Occurrences, of which five are logged each second.
#[derive(Debug)]
pub struct Sampled {
    since: Instant,
    /// The second that is counted, in the upper half, and the occurrences in it.
    second: AtomicU64,
}

impl Default for Sampled {
    fn default() -> Self {
        Self { since: Instant::now(), second: AtomicU64::new(0) }
    }
}

impl Sampled {
    const LOGGED: u64 = 5;

    /// Counts one more. If it is to be logged, gives how many of the last counted second were not.
    pub fn next(&self) -> Option<u64> {
        let now = self.since.elapsed().as_secs() + 1;
        let before = self.second.load(Ordering::Relaxed);
        let (second, count) = (before >> 32, before & 0xffff_ffff);
        if second == now {
            self.second.fetch_add(1, Ordering::Relaxed);
            return (count < Self::LOGGED).then_some(0);
        }
        let is_first =
            self.second.compare_exchange(before, now << 32 | 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_first.then_some(count.saturating_sub(Self::LOGGED))
    }
}
