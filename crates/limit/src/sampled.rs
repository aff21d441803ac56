//! Sampling of log lines for events that a peer causes: a peer must not be able to fill the log.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// Counts events, of which five are logged each second.
#[derive(Debug)]
pub struct Sampled {
    since: Instant,
    /// The present second in the upper half, and the number of events in this second.
    second: AtomicU64,
}

impl Default for Sampled {
    fn default() -> Self {
        Self { since: Instant::now(), second: AtomicU64::new(0) }
    }
}

impl Sampled {
    const LOGGED: u64 = 5;

    /// Counts an event. If the event must be logged, returns how many events of the second before were not logged.
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
