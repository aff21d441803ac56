//! The run time of a turn's program, and the time since its last output.

use std::{sync::Arc, time::Duration};

use nuncio_limit::sleep;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::ProgramLimits;

/// The time of the program's last output. Time without a listener, while the engine was slower than the program, does
/// not count as silence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pulse(Arc<Mutex<Option<Instant>>>);

impl Pulse {
    /// Listens with this future; until the future is ready, the program counts as silent.
    pub(crate) async fn listen<T>(&self, data: impl Future<Output = T>) -> T {
        *self.0.lock() = Some(Instant::now());
        let received = data.await;
        *self.0.lock() = None;
        received
    }

    /// Notes an output.
    pub(super) fn beat(&self) {
        if let Some(since) = &mut *self.0.lock() {
            *since = Instant::now();
        }
    }

    /// The time since the last output.
    pub(super) fn silence(&self) -> Duration {
        self.0.lock().map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// The exceeded time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expired {
    /// The limit for the turn.
    Time(Duration),
    /// The limit for silence.
    Silence(Duration),
}

impl std::fmt::Display for Expired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(limit) => write!(f, "the program took longer than {limit:?}"),
            Self::Silence(limit) => write!(f, "the program was silent for {limit:?}"),
        }
    }
}

/// Waits until a time limit is exceeded; forever if there is no limit.
pub(super) async fn expired(limits: &ProgramLimits, begun: Instant, pulse: &Pulse) -> Expired {
    loop {
        let now = Instant::now();
        let time = limits.time.map(|limit| (limit.saturating_sub(now - begun), Expired::Time(limit)));
        let silence = limits.silence.map(|limit| (limit.saturating_sub(pulse.silence()), Expired::Silence(limit)));
        let next = time.into_iter().chain(silence).min_by_key(|(left, _)| *left);
        if let Some((Duration::ZERO, expired)) = next {
            return expired;
        }
        sleep::after(next.map(|(left, _)| left)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn silence_counts_only_while_the_output_is_read() {
        let (pulse, limits) = (Pulse::default(), ProgramLimits::default().with_silence(UNIT));
        let begun = Instant::now();
        let program = async {
            tokio::time::sleep(3 * UNIT).await;
            pulse.listen(std::future::pending::<()>()).await;
        };
        let expired = tokio::select! { expired = expired(&limits, begun, &pulse) => expired, () = program => return };
        assert_eq!(expired, Expired::Silence(UNIT));
        assert!(begun.elapsed() >= 4 * UNIT);
    }

    #[tokio::test]
    async fn the_limit_that_is_exceeded_first_counts() {
        let (pulse, begun) = (Pulse::default(), Instant::now());
        let limits = ProgramLimits::default().with_time(UNIT).with_silence(1000 * UNIT);
        assert_eq!(expired(&limits, begun, &pulse).await, Expired::Time(UNIT));
        assert!(begun.elapsed() >= UNIT);
    }
}
