//! Admission: how much of something may be under way, in all and for each caller. One caller at its limit does not keep
//! another from anything.
//!
//! A caller is a [`Principal`], whatever tenants it names and connections it has. Where nobody is asked who calls,
//! there is one caller, and only the limits in all hold.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nuncio_model::{Error, ErrorKind, Principal};

use crate::{callers::Callers, sampled::Sampled};

/// After how long a caller that was refused may try again.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The error for what cannot be done now, and may be soon.
pub fn not_now(message: &str) -> Error {
    Error::new(ErrorKind::Unavailable, message).with_retry_after(RETRY_AFTER)
}

/// The name of a limit, as the log and an error's metadata have it, and how much there may be.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Its name.
    pub name: &'static str,
    /// How much.
    pub amount: usize,
}

impl Most {
    /// A limit of this name.
    pub const fn new(name: &'static str, amount: usize) -> Self {
        Self { name, amount }
    }

    /// No limit.
    pub const NONE: Self = Self::new("", usize::MAX);
}

/// What may be counted, and what is said of it.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// What there is too much of, for people: `turns are running`.
    pub what: &'static str,
    /// How much there may be.
    pub in_all: Most,
    /// How much of it one caller may have.
    pub per_caller: Most,
    /// The error where there is too much in all. For one caller it is `ResourceExhausted`.
    pub kind: ErrorKind,
}

/// Counts something that has a limit.
pub struct Gauge {
    quota: Quota,
    /// Whether what is larger than a limit is let in where nothing else is counted.
    allows_one: bool,
    total: AtomicUsize,
    callers: Callers,
    refusals: Refusals,
}

/// A part of what a [`Gauge`] counts, until it is dropped.
pub struct Permit {
    gauge: Arc<Gauge>,
    /// Whose it is; the count of all is not kept by caller.
    principal: Principal,
    amount: usize,
}

impl Gauge {
    /// A gauge at 0.
    pub fn new(quota: Quota) -> Arc<Self> {
        Self::with(quota, false)
    }

    /// A gauge at 0 that lets in what is larger than a limit where nothing else is counted, so that nothing is too
    /// large for ever.
    pub fn allowing_one(quota: Quota) -> Arc<Self> {
        Self::with(quota, true)
    }

    fn with(quota: Quota, allows_one: bool) -> Arc<Self> {
        let refusals = Refusals::new(quota.in_all.name, quota.per_caller.name);
        Arc::new(Self { quota, allows_one, total: AtomicUsize::new(0), callers: Callers::default(), refusals })
    }

    /// Counts so much more for this caller, if there may be.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` where the caller has too much, and the quota's kind where there is too much in all: each
    /// says when to try again, and names the limit in its metadata.
    pub fn take(self: &Arc<Self>, principal: &Principal, amount: usize) -> Result<Permit, Error> {
        let mut permit = self.none(principal);
        permit.grow(amount)?;
        Ok(permit)
    }

    /// Counts nothing yet for this caller.
    pub fn none(self: &Arc<Self>, principal: &Principal) -> Permit {
        Permit { gauge: Arc::clone(self), principal: principal.clone(), amount: 0 }
    }

    /// How much there is.
    pub fn count(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    fn add(&self, principal: &Principal, amount: usize) -> Result<(), Error> {
        if amount == 0 {
            // Also where too much was counted anyway.
            return Ok(());
        }
        let (Quota { what, in_all, per_caller, kind }, allows_one) = (self.quota, self.allows_one);
        if !self.callers.add(principal, amount, per_caller.amount, allows_one) {
            return Err(self.refusals.caller(principal, what));
        }
        // What is refused is never counted, or it would have another refused that fits.
        let is_within = |total, sum| sum <= in_all.amount || allows_one && total == 0;
        let add = |total: usize| total.checked_add(amount).filter(|sum| is_within(total, *sum));
        if self.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            self.callers.remove(principal, amount);
            return Err(self.refusals.all(principal, what, kind));
        }
        Ok(())
    }

    fn remove(&self, principal: &Principal, amount: usize) {
        self.callers.remove(principal, amount);
        self.total.fetch_sub(amount, Ordering::Release);
    }
}

impl Permit {
    /// Counts so much more, if there may be; else it stays as it is.
    ///
    /// # Errors
    ///
    /// As for [`Gauge::take`].
    pub fn grow(&mut self, amount: usize) -> Result<(), Error> {
        self.gauge.add(&self.principal, amount)?;
        self.amount += amount;
        Ok(())
    }

    /// Counts so much more, whether there may be or not.
    pub fn grow_anyway(&mut self, amount: usize) {
        self.gauge.callers.add(&self.principal, amount, usize::MAX, true);
        self.gauge.total.fetch_add(amount, Ordering::Relaxed);
        self.amount += amount;
    }

    /// Counts so much instead of what it counted, whether there may be more or not.
    pub fn set(&mut self, amount: usize) {
        if amount >= self.amount {
            self.grow_anyway(amount - self.amount);
        } else {
            self.gauge.remove(&self.principal, self.amount - amount);
            self.amount = amount;
        }
    }

    /// Whose it is.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// How much it counts.
    pub fn amount(&self) -> usize {
        self.amount
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.amount > 0 {
            self.gauge.remove(&self.principal, self.amount);
        }
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauge").field("quota", &self.quota).field("count", &self.count()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("amount", &self.amount).finish_non_exhaustive()
    }
}

/// Says no at a limit: to the caller, and now and then to the log.
pub struct Refusals {
    in_all: &'static str,
    per_caller: &'static str,
    sampled: Sampled,
}

impl Refusals {
    /// Refusals at the limits of these names: in all, and for each caller.
    pub fn new(in_all: &'static str, per_caller: &'static str) -> Self {
        Self { in_all, per_caller, sampled: Sampled::default() }
    }

    /// There is too much of this caller's.
    pub fn caller(&self, principal: &Principal, what: &str) -> Error {
        self.log(self.per_caller, principal, "a caller is at its limit");
        error(ErrorKind::ResourceExhausted, self.per_caller, format!("too many of your {what}; try again later"))
    }

    /// There is too much in all.
    pub fn all(&self, principal: &Principal, what: &str, kind: ErrorKind) -> Error {
        self.log(self.in_all, principal, "a limit is reached");
        error(kind, self.in_all, format!("too many {what}; try again later"))
    }

    fn log(&self, limit: &str, principal: &Principal, message: &str) {
        if let Some(silent) = self.sampled.next() {
            tracing::warn!(limit, caller = %principal, silent, "{message}");
        }
    }
}

fn error(kind: ErrorKind, limit: &str, message: String) -> Error {
    Error::new(kind, message).with_retry_after(RETRY_AFTER).with_metadata("limit", limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge(in_all: usize, per_caller: usize) -> Arc<Gauge> {
        let (in_all, per_caller) = (Most::new("things", in_all), Most::new("things_per_caller", per_caller));
        Gauge::new(Quota { what: "things are there", in_all, per_caller, kind: ErrorKind::Unavailable })
    }

    #[test]
    fn a_caller_at_its_limit_keeps_no_other_from_anything() {
        let gauge = gauge(5, 2);
        let (a, b) = (Principal::named("a"), Principal::named("b"));
        let mut of_a = vec![gauge.take(&a, 1).unwrap(), gauge.take(&a, 1).unwrap()];
        let error = gauge.take(&a, 1).unwrap_err();
        assert_eq!((error.kind(), error.retry_after()), (ErrorKind::ResourceExhausted, Some(RETRY_AFTER)));
        assert_eq!(error.metadata()["limit"], "things_per_caller");
        let of_b = gauge.take(&b, 2).unwrap();
        assert_eq!(gauge.count(), 4);
        of_a.pop();
        of_a.push(gauge.take(&a, 1).unwrap());
        drop((of_a, of_b));
        assert_eq!((gauge.count(), gauge.callers.len()), (0, 0));
    }

    #[test]
    fn the_limit_in_all_holds_for_all() {
        let gauge = gauge(3, 2);
        let _a = gauge.take(&Principal::named("a"), 2).unwrap();
        let mut b = gauge.take(&Principal::named("b"), 1).unwrap();
        assert_eq!(b.grow(1).unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!((b.amount, gauge.count()), (1, 3), "what was refused is not counted");
        let error = gauge.take(&Principal::named("c"), 1).unwrap_err();
        assert_eq!((error.kind(), &*error.metadata()["limit"]), (ErrorKind::Unavailable, "things"));
        drop(b);
        assert_eq!(gauge.callers.len(), 1);
        drop(gauge.take(&Principal::named("c"), 1).unwrap());
    }

    #[test]
    fn what_is_counted_anyway_keeps_the_rest_out() {
        let (gauge, a) = (gauge(3, 2), Principal::named("a"));
        let mut held = gauge.none(&a);
        held.grow_anyway(5);
        assert_eq!((held.amount(), gauge.count()), (5, 5));
        assert_eq!(gauge.take(&a, 1).unwrap_err().kind(), ErrorKind::ResourceExhausted);
        assert_eq!(gauge.take(&Principal::named("b"), 1).unwrap_err().kind(), ErrorKind::Unavailable);
        held.grow(0).unwrap();
        drop(held);
        assert_eq!((gauge.count(), gauge.callers.len()), (0, 0));
    }

    #[test]
    fn one_that_is_is_too_large_is_let_in_alone_where_the_gauge_allows_that() {
        let (in_all, per_caller) = (Most::new("things", 5), Most::new("things_per_caller", 2));
        let (what, kind) = ("things are there", ErrorKind::Unavailable);
        let gauge = Gauge::allowing_one(Quota { what, in_all, per_caller, kind });
        let (a, b) = (Principal::named("a"), Principal::named("b"));
        let mut of_a = gauge.take(&a, 9).unwrap();
        assert_eq!(gauge.take(&a, 1).unwrap_err().kind(), ErrorKind::ResourceExhausted);
        assert_eq!(gauge.take(&b, 1).unwrap_err().kind(), ErrorKind::Unavailable);
        of_a.set(3);
        let of_b = gauge.take(&b, 2).unwrap();
        assert_eq!(gauge.take(&b, 1).unwrap_err().kind(), ErrorKind::ResourceExhausted);
        of_a.set(4);
        assert_eq!(gauge.count(), 6);
        drop((of_a, of_b));
        assert_eq!((gauge.count(), gauge.callers.len()), (0, 0));
    }

    #[test]
    fn where_nobody_is_asked_only_the_limit_in_all_holds() {
        let gauge = gauge(3, 1);
        let _permit = gauge.take(&Principal::Open, 3).unwrap();
        assert_eq!(gauge.take(&Principal::Open, 1).unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(gauge.callers.len(), 0);
    }
}
