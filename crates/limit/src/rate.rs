//! The rate of the requests of a caller.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use nuncio_model::{Error, Principal};

use crate::refusals::Refusals;

/// The number of requests after which inactive callers are forgotten.
const SWEEP: u32 = 1024;

/// A limit on the requests of each caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Requests per second, on average.
    pub per_second: NonZeroU32,
    /// Requests that a caller can make at once after a pause.
    pub burst: NonZeroU32,
}

/// Applies a rate to each caller. Without authentication, all requests are of one caller.
pub struct Rates {
    limiter: DefaultKeyedRateLimiter<Principal>,
    clock: DefaultClock,
    checks: AtomicU32,
    refusals: Refusals,
}

impl Rates {
    /// No caller has made a request yet.
    pub fn new(rate: Rate) -> Self {
        let quota = Quota::per_second(rate.per_second).allow_burst(rate.burst);
        Self {
            limiter: RateLimiter::keyed(quota),
            clock: DefaultClock::default(),
            checks: AtomicU32::new(0),
            refusals: Refusals::new("rate", "rate"),
        }
    }

    /// Counts a request of this caller.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` if the rate is exceeded, with the time after which the caller can try again.
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
