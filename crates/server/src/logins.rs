//! Failed logins by address, so that a client cannot guess secrets at the speed of the machine.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nuncio_model::{Error, ErrorKind};
use tokio::time::Instant;

use crate::address::peer_key;

/// The time after which a failure is forgotten. The count decreases evenly: in this time by as many failures as the
/// limit.
const WINDOW: Duration = Duration::from_mins(1);

/// The largest number of addresses with a count.
const KEPT: usize = 10_000;

/// The remaining failures of each address.
#[derive(Debug)]
pub(crate) struct Logins {
    most: f64,
    failures: Mutex<HashMap<IpAddr, Failures>>,
    /// The number of addresses with a count. While the number is 0, a check takes no lock.
    addresses: AtomicUsize,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    count: f64,
    at: Instant,
}

impl Logins {
    /// `most` is the number of logins of one address that may fail in a minute.
    pub(crate) fn new(most: usize) -> Self {
        let most = f64::from(u32::try_from(most.max(1)).unwrap_or(u32::MAX));
        Self { most, failures: Mutex::default(), addresses: AtomicUsize::new(0) }
    }

    /// Refuses an address with too many failed logins.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted`, with the time after which the next login is checked.
    pub(crate) fn check(&self, peer: IpAddr) -> Result<(), Error> {
        self.check_at(peer, Instant::now())
    }

    fn check_at(&self, peer: IpAddr, now: Instant) -> Result<(), Error> {
        if self.addresses.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.get(&peer_key(peer)).map_or(0.0, |failures| self.left(*failures, now));
        let over = count + 1.0 - self.most;
        if over <= 0.0 {
            return Ok(());
        }
        let wait = WINDOW.mul_f64((over / self.most).min(1.0));
        let message = "too many logins from this address have failed; try again later";
        let error = Error::new(ErrorKind::ResourceExhausted, message).with_metadata("limit", "failed_logins");
        Err(error.with_retry_after(wait))
    }

    /// Counts a failed login.
    pub(crate) fn fail(&self, peer: IpAddr) {
        self.fail_at(peer, Instant::now());
    }

    fn fail_at(&self, peer: IpAddr, now: Instant) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= KEPT {
            failures.retain(|_, failures| self.left(*failures, now) > 0.0);
        }
        if failures.len() >= KEPT {
            // So many addresses are not one client that guesses.
            failures.clear();
        }
        let entry = failures.entry(peer_key(peer)).or_insert(Failures { count: 0.0, at: now });
        *entry = Failures { count: self.left(*entry, now) + 1.0, at: now };
        self.addresses.store(failures.len(), Ordering::Relaxed);
    }

    /// The remaining failures at this time.
    fn left(&self, failures: Failures, now: Instant) -> f64 {
        let forgotten = now.saturating_duration_since(failures.at).as_secs_f64() / WINDOW.as_secs_f64() * self.most;
        (failures.count - forgotten).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_too_many_failures_waits_and_others_do_not() {
        let logins = Logins::new(3);
        let (one, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let now = Instant::now();
        for _ in 0..3 {
            logins.check_at(one, now).unwrap();
            logins.fail_at(one, now);
        }
        let refused = logins.check_at(one, now).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ResourceExhausted);
        assert_eq!(refused.retry_after().unwrap().as_secs(), 20);
        logins.check_at(other, now).unwrap();
        let later = now + Duration::from_secs(21);
        logins.check_at(one, later).unwrap();
        logins.fail_at(one, later);
        logins.check_at(one, later).unwrap_err();
    }

    #[test]
    fn an_ipv6_network_is_one_peer() {
        let key = |text: &str| peer_key(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
    }
}
