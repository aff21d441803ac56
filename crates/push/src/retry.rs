//! Delays and number of attempts (section 4.3.3, Push Notification Payload).

use std::time::Duration;

use nuncio_limit::{Backoff, Jitter};

/// The delays between attempts to deliver a notification, and their number.
///
/// The delay doubles from [`first`](Self::first) to [`longest`](Self::longest), each changed at random by up to a fifth. A
/// `Retry-After` of up to an hour is respected. With the defaults, the attempts for a record take about an hour. A delay
/// is at most a century.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// The first delay. 1 s.
    pub first: Duration,
    /// The longest delay. 5 min.
    pub longest: Duration,
    /// The number of consecutive failures after which a record is skipped. 20.
    pub attempts: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), longest: Duration::from_mins(5), attempts: 20 }
    }
}

/// The longest delay that a receiver can ask for.
const LONGEST_ASKED: Duration = Duration::from_hours(1);

/// A longer delay would overflow the clock.
const CENTURY: Duration = Duration::from_hours(100 * 365 * 24);

impl Retry {
    /// The delay after `failures` consecutive failures; `asked` is the `Retry-After` of the receiver.
    pub(crate) fn pause(&self, failures: u32, asked: Option<Duration>) -> Duration {
        let jitter = Jitter::Between(0.8, 1.2);
        let backoff = Backoff { first: self.first, longest: self.longest.min(CENTURY), jitter };
        backoff.delay(failures.saturating_sub(1)).max(asked.unwrap_or_default().min(LONGEST_ASKED))
    }

    /// Whether the number of attempts is reached.
    pub(crate) fn is_over(&self, failures: u32) -> bool {
        failures >= self.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_vary_by_a_fifth() {
        let retry = Retry::default();
        for (failures, seconds) in [(1, 1.0), (2, 2.0), (3, 4.0), (9, 256.0), (10, 300.0), (u32::MAX, 300.0)] {
            let pause = retry.pause(failures, None).as_secs_f64();
            assert!((0.8 * seconds..=1.2 * seconds).contains(&pause), "{failures}: {pause}");
        }
    }

    #[test]
    fn no_pause_is_too_long_to_be_told() {
        for (first, longest) in [(Duration::MAX, Duration::MAX), (Duration::from_secs(1), Duration::MAX)] {
            let retry = Retry { first, longest, attempts: u32::MAX };
            let years = retry.pause(u32::MAX, Some(Duration::MAX)).as_secs() / (365 * 24 * 3600);
            assert!((79..=120).contains(&years), "{years}");
        }
    }

    #[test]
    fn a_receiver_may_ask_for_longer_pauses_within_reason() {
        let asked = |seconds| Retry::default().pause(1, Some(Duration::from_secs(seconds))).as_secs();
        assert_eq!(asked(90), 90);
        assert_eq!(asked(1_000_000), 3600);
        assert!(asked(0) <= 1);
    }

    #[test]
    fn the_defaults_try_for_about_an_hour() {
        let retry = Retry::default();
        assert!(retry.is_over(20) && !retry.is_over(19));
        let seconds: f64 = (1..20).map(|failures| retry.pause(failures, None).as_secs_f64()).sum();
        assert!((0.8 * 3511.0..=1.2 * 3511.0).contains(&seconds), "{seconds}");
    }
}
