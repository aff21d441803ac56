//! Which receivers do not answer: they get few places, so that those who do have theirs.

use std::{collections::HashSet, time::Duration};

use parking_lot::Mutex;

/// An attempt that fails after less than this has kept nobody waiting.
const SLOW: Duration = Duration::from_secs(1);

/// How many are remembered; beyond it all are forgotten, and found out again.
const REMEMBERED: usize = 10_000;

/// Receivers, by host and port.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    silent: Mutex<HashSet<Box<str>>>,
}

impl Receivers {
    /// Notes how long an attempt took, and whether it failed.
    pub(super) fn note(&self, url: &str, took: Duration, limit: Duration, failed: bool) {
        let mut silent = self.silent.lock();
        if failed && took >= SLOW.min(limit / 2) {
            if silent.len() >= REMEMBERED {
                silent.clear();
            }
            silent.insert(receiver(url).into());
        } else if !silent.is_empty() {
            silent.remove(receiver(url));
        }
    }

    /// Whether the last attempt there took its time and failed.
    pub(super) fn is_silent(&self, receiver: &str) -> bool {
        self.silent.lock().contains(receiver)
    }
}

/// Where a URL leads: its host and port.
pub(super) fn receiver(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_its_host_and_port() {
        for (url, expected) in [
            ("https://a.example/x/y?z", "a.example"),
            ("http://a.example:8080", "a.example:8080"),
            ("http://[::1]:80/#x", "[::1]:80"),
            ("https://a.example?x=http://b.example/", "a.example"),
            ("odd", "odd"),
        ] {
            assert_eq!(receiver(url), expected);
        }
    }

    #[test]
    fn only_who_keeps_others_waiting_is_silent_and_only_until_it_answers() {
        let (receivers, limit) = (Receivers::default(), Duration::from_secs(15));
        let after = |took, failed| {
            receivers.note("http://a/x", Duration::from_millis(took), limit, failed);
            receivers.is_silent("a")
        };
        assert!(!after(999, true));
        assert!(after(1_000, true));
        assert!(!after(5_000, false));
        assert!(after(15_000, true));
        assert!(!after(10, true));
    }
}
