//! Remembers which hosts accept notifications without delay. Other hosts get fewer places.

use std::{borrow::Cow, collections::HashSet, time::Duration};

use parking_lot::Mutex;

/// A faster attempt does not delay others.
const SLOW: Duration = Duration::from_secs(1);

/// The maximum of remembered hosts of each kind; another host replaces any of them.
const REMEMBERED: usize = 10_000;

/// Receivers, by host and port.
#[derive(Debug, Default)]
pub(super) struct Receivers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    proven: HashSet<Box<str>>,
    silent: HashSet<Box<str>>,
}

impl Receivers {
    /// Notes how long an attempt took, and whether the notification was taken. Returns whether the attempt was slow.
    pub(super) fn note(&self, url: &str, took: Duration, limit: Duration, taken: bool) -> bool {
        let host = host_of(url);
        let is_slow = took >= SLOW.min(limit / 2);
        let mut known = self.0.lock();
        if is_slow {
            known.proven.remove(&*host);
            remember(&mut known.silent, &host);
        } else {
            known.silent.remove(&*host);
            if taken {
                remember(&mut known.proven, &host);
            }
        }
        is_slow
    }

    /// Whether the host has taken a notification, and the last attempt was not slow.
    pub(super) fn is_proven(&self, host: &str) -> bool {
        self.0.lock().proven.contains(host)
    }

    /// Whether the last attempt to this host was slow.
    pub(super) fn is_silent(&self, host: &str) -> bool {
        self.0.lock().silent.contains(host)
    }
}

fn remember(hosts: &mut HashSet<Box<str>>, host: &str) {
    if hosts.contains(host) {
        return;
    }
    if hosts.len() >= REMEMBERED
        && let Some(any) = hosts.iter().next().cloned()
    {
        hosts.remove(&any);
    }
    hosts.insert(host.into());
}

/// The host and port of a URL, in lower case.
pub(super) fn host_of(url: &str) -> Cow<'_, str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) { host.to_ascii_lowercase().into() } else { host.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_its_host_and_port() {
        for (url, expected) in [
            ("https://a.example/x/y?z", "a.example"),
            ("http://a.example:8080", "a.example:8080"),
            ("http://A.Example:8080", "a.example:8080"),
            ("http://[::1]:80/#x", "[::1]:80"),
            ("https://a.example?x=http://b.example/", "a.example"),
            ("odd", "odd"),
        ] {
            assert_eq!(host_of(url), expected);
        }
    }

    #[test]
    fn a_host_is_silent_after_a_slow_attempt_and_proven_after_a_quick_success() {
        let (receivers, limit) = (Receivers::default(), Duration::from_secs(15));
        let after = |took, taken| {
            receivers.note("http://a/x", Duration::from_millis(took), limit, taken);
            (receivers.is_silent("a"), receivers.is_proven("a"))
        };
        let (unknown, silent, proven) = ((false, false), (true, false), (false, true));
        assert_eq!(after(999, false), unknown);
        assert_eq!(after(1_000, false), silent);
        assert_eq!(after(10, false), unknown);
        assert_eq!(after(10, true), proven);
        assert_eq!(after(999, false), proven);
        assert_eq!(after(5_000, true), silent);
        assert_eq!(after(999, true), proven);
    }

    #[test]
    fn so_many_hosts_are_remembered() {
        let receivers = Receivers::default();
        for host in 0..=REMEMBERED {
            receivers.note(&format!("http://{host}"), Duration::ZERO, Duration::from_secs(15), true);
        }
        let proven = (0..=REMEMBERED).filter(|host| receivers.is_proven(&host.to_string())).count();
        assert_eq!(proven, REMEMBERED);
    }
}
