//! Exponential backoff with jitter: the delays between attempts of an operation that fails.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// A schedule of delays: from `first`, each delay is twice the delay before, up to `longest`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub first: Duration,
    /// The longest delay, without the jitter.
    pub longest: Duration,
    /// The random part of each delay.
    pub jitter: Jitter,
}

impl Backoff {
    /// The delay after this number of failures, counted from 0: `delay(0)` is the first delay.
    pub fn delay(&self, failures: u32) -> Duration {
        self.jitter.of(self.exact(failures))
    }

    fn exact(&self, failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(failures)).min(self.longest)
    }
}

/// The random part of a delay. It keeps clients and nodes that failed together from trying again together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Jitter {
    /// No random part.
    None,
    /// The delay is multiplied by a random number between these two.
    Between(f64, f64),
}

impl Jitter {
    /// Any delay from zero to the delay of the schedule.
    pub const FULL: Self = Self::Between(0.0, 1.0);

    /// This delay with the random part.
    pub fn of(self, delay: Duration) -> Duration {
        let Self::Between(least, most) = self else { return delay };
        let factor = least + (most - least) * chance();
        Duration::try_from_secs_f64(delay.as_secs_f64() * factor).unwrap_or(Duration::MAX)
    }
}

/// Counts the failures in a row of one operation.
#[derive(Debug, Default)]
pub struct Failures(u32);

impl Failures {
    /// Counts a failure. Returns the delay before the next attempt.
    pub fn next_delay(&mut self, schedule: &Backoff) -> Duration {
        let delay = schedule.delay(self.0);
        // At the longest delay the count stays, so that a schedule with longer delays continues from there.
        if schedule.exact(self.0) < schedule.longest {
            self.0 = self.0.saturating_add(1);
        }
        delay
    }

    /// Notes a success: the next failure is the first.
    pub fn reset(&mut self) {
        self.0 = 0;
    }
}

/// A random number from 0 to 1.
fn chance() -> f64 {
    let random = RandomState::new().hash_one(0) >> 32;
    f64::from(u32::try_from(random).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn schedule(jitter: Jitter) -> Backoff {
        Backoff { first: SECOND, longest: SECOND * 10, jitter }
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let schedule = schedule(Jitter::None);
        let delays = [0, 1, 2, 3, 4, 5, u32::MAX].map(|failures| schedule.delay(failures).as_secs());
        assert_eq!(delays, [1, 2, 4, 8, 10, 10, 10]);
    }

    #[test]
    fn jitter_stays_within_its_bounds_and_uses_them() {
        for (least, most) in [(0.0, 1.0), (0.5, 1.0), (0.8, 1.2)] {
            let schedule = schedule(Jitter::Between(least, most));
            let delays: Vec<_> = (0..200).map(|_| schedule.delay(9).as_secs_f64() / 10.0).collect();
            assert!(delays.iter().all(|delay| (least..=most).contains(delay)), "{delays:?}");
            let (low, high) = (least + (most - least) / 4.0, most - (most - least) / 4.0);
            assert!(delays.iter().any(|delay| *delay < low) && delays.iter().any(|delay| *delay > high), "{delays:?}");
        }
    }

    #[test]
    fn no_delay_overflows() {
        for jitter in [Jitter::None, Jitter::FULL, Jitter::Between(0.8, 1.2)] {
            let schedule = Backoff { first: Duration::MAX, longest: Duration::MAX, jitter };
            assert!(schedule.delay(u32::MAX) <= Duration::MAX);
        }
        let exact = Backoff { first: Duration::MAX, longest: Duration::MAX, jitter: Jitter::None };
        assert_eq!(exact.delay(3), Duration::MAX);
    }

    #[test]
    fn a_longer_schedule_continues_where_a_shorter_one_ended() {
        let (short, long) = (schedule(Jitter::None), Backoff { longest: SECOND * 100, ..schedule(Jitter::None) });
        let mut failures = Failures::default();
        let delays: Vec<_> = (0..100).map(|_| failures.next_delay(&short).as_secs()).collect();
        assert_eq!((&delays[..5], delays[99]), (&[1, 2, 4, 8, 10][..], 10));
        assert_eq!([16, 32, 64, 100, 100].map(|_| failures.next_delay(&long).as_secs()), [16, 32, 64, 100, 100]);
        failures.reset();
        assert_eq!(failures.next_delay(&long), SECOND);
    }
}
