//! How many requests a caller may make in a time.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use nuncio_model::{Error, Principal};

use crate::gauge::Refusals;

/// After how many requests callers are forgotten that made none for a while.
const SWEEP: u32 = 1024;

/// Requests per second, and how many of them may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests per second, over time.
    pub per_second: NonZeroU32,
    /// Requests that a caller may make at once after it was quiet.
    pub burst: NonZeroU32,
}

/// Holds callers to a rate, each by itself. Where nobody is asked who calls, all are one.
pub struct Rates {
    limiter: DefaultKeyedRateLimiter<Principal>,
    clock: DefaultClock,
    checks: AtomicU32,
    refusals: Refusals,
}

impl Rates {
    pub fn new(rate: Rate) -> Self {
        let quota = Quota::per_second(rate.per_second).allow_burst(rate.burst);
        Self {
            limiter: RateLimiter::keyed(quota),
            clock: DefaultClock::default(),
            checks: AtomicU32::new(0),
            refusals: Refusals::new("rate", "rate"),
        }
    }

    /// Counts a request, if the caller may make another now.
    ///
    /// Fails with `ResourceExhausted`, which says when it may.
    pub fn check(&self, principal: &Principal) -> Result<(), Error> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % SWEEP == SWEEP - 1 {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(principal).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            self.refusals.caller(principal, "requests in a short time").with_retry_after(wait)
        })
    }
}

impl std::fmt::Debug for Rates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rates").finish_non_exhaustive()
    }
}
