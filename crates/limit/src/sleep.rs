//! Waits that may have no end.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Sleeps until this time; forever if there is none.
pub async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Sleeps for this long; forever if there is no duration, or if the end is later than the clock can represent.
pub async fn after(duration: Option<Duration>) {
    until(duration.and_then(|duration| Instant::now().checked_add(duration))).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sleep_ends_at_its_time_or_never() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        until(Some(begun + second)).await;
        after(Some(second)).await;
        assert_eq!(begun.elapsed(), 2 * second);
        for endless in [None, Some(Duration::MAX)] {
            let year = Duration::from_hours(365 * 24);
            assert!(tokio::time::timeout(year, after(endless)).await.is_err(), "{endless:?}");
        }
    }
}
