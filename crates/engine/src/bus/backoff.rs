//! Pauses between attempts to connect.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::Duration,
};

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// Doubles from 50 ms to 2 s. Each pause is anything between nothing and that, so that nodes do not come back together.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(super) fn pause(&mut self) -> Duration {
        let longest = FIRST.saturating_mul(2u32.saturating_pow(self.failures)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        #[expect(clippy::cast_precision_loss, reason = "any fraction will do")]
        let chance = RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64;
        longest.mul_f64(chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_spread_and_bounded() {
        let mut longest = Duration::ZERO;
        for _ in 0..100 {
            let mut backoff = Backoff::default();
            assert!(backoff.pause() <= FIRST);
            backoff.failures = u32::MAX;
            let pause = backoff.pause();
            assert!(pause <= LONGEST);
            longest = longest.max(pause);
        }
        assert!(longest > LONGEST / 2, "{longest:?}");
    }
}
