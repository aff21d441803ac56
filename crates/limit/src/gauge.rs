//! Counts an amount in use, in total and for each caller. A caller at its limit does not restrict other callers.
//!
//! A caller is a [`Principal`], with all of its tenants and connections. Without authentication there is one caller, and
//! only the limits in total apply.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use nuncio_model::{Error, ErrorKind, Principal};

use crate::{callers::Callers, refusals::Refusals};

/// A limit and its name, as the log and the metadata of errors show it.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// The name.
    pub name: &'static str,
    /// The largest amount.
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

/// The limits of a [`Gauge`], and the error at a limit.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// The counted amount, for people: `turns are running`.
    pub what: &'static str,
    /// The limit in total.
    pub in_all: Most,
    /// The limit of each caller.
    pub per_caller: Most,
    /// The error at the limit in total. The error at the limit of a caller is `ResourceExhausted`.
    pub kind: ErrorKind,
}

/// Counts an amount that has limits.
pub struct Gauge {
    quota: Quota,
    /// Whether an amount over a limit is accepted if nothing else is counted.
    allows_one: bool,
    total: AtomicUsize,
    callers: Callers,
    refusals: Refusals,
}

/// A part of the amount of a [`Gauge`], until the permit is dropped.
pub struct Permit {
    gauge: Arc<Gauge>,
    /// The caller. The count in total is not by caller.
    principal: Principal,
    amount: usize,
}

impl Gauge {
    /// A gauge at 0.
    pub fn new(quota: Quota) -> Arc<Self> {
        Self::with(quota, false)
    }

    /// A gauge at 0 that accepts an amount over a limit if nothing else is counted, so that no amount is refused forever.
    pub fn allowing_one(quota: Quota) -> Arc<Self> {
        Self::with(quota, true)
    }

    fn with(quota: Quota, allows_one: bool) -> Arc<Self> {
        let refusals = Refusals::new(quota.in_all.name, quota.per_caller.name);
        Arc::new(Self { quota, allows_one, total: AtomicUsize::new(0), callers: Callers::default(), refusals })
    }

    /// Counts this amount for the caller, within the limits.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` at the limit of the caller, and the kind of the quota at the limit in total. Each error has a
    /// time to try again, and the name of the limit in its metadata.
    pub fn take(self: &Arc<Self>, principal: &Principal, amount: usize) -> Result<Permit, Error> {
        let mut permit = self.none(principal);
        permit.grow(amount)?;
        Ok(permit)
    }

    /// A permit for this caller that counts nothing yet.
    pub fn none(self: &Arc<Self>, principal: &Principal) -> Permit {
        Permit { gauge: Arc::clone(self), principal: principal.clone(), amount: 0 }
    }

    /// The counted amount.
    pub fn count(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    fn add(&self, principal: &Principal, amount: usize) -> Result<(), Error> {
        if amount == 0 {
            // Nothing is added, also if the amount is over the limit already.
            return Ok(());
        }
        let (Quota { what, in_all, per_caller, kind }, allows_one) = (self.quota, self.allows_one);
        if !self.callers.add(principal, amount, per_caller.amount, allows_one) {
            return Err(self.refusals.caller(principal, what));
        }
        // A refused amount is not counted, not even for a moment: another request could be refused that fits.
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
    /// Counts this amount in addition, within the limits. The permit does not change if the amount is refused.
    ///
    /// # Errors
    ///
    /// As for [`Gauge::take`].
    pub fn grow(&mut self, amount: usize) -> Result<(), Error> {
        self.gauge.add(&self.principal, amount)?;
        self.amount += amount;
        Ok(())
    }

    /// Counts this amount in addition, also beyond the limits.
    pub fn grow_anyway(&mut self, amount: usize) {
        self.gauge.callers.add(&self.principal, amount, usize::MAX, true);
        self.gauge.total.fetch_add(amount, Ordering::Relaxed);
        self.amount += amount;
    }

    /// Counts this amount instead of the present amount, also beyond the limits.
    pub fn set(&mut self, amount: usize) {
        if amount >= self.amount {
            self.grow_anyway(amount - self.amount);
        } else {
            self.gauge.remove(&self.principal, self.amount - amount);
            self.amount = amount;
        }
    }

    /// The caller.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The amount of this permit.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusals::RETRY_AFTER;

    fn gauge(in_all: usize, per_caller: usize) -> Arc<Gauge> {
        let (in_all, per_caller) = (Most::new("things", in_all), Most::new("things_per_caller", per_caller));
        Gauge::new(Quota { what: "things are there", in_all, per_caller, kind: ErrorKind::Unavailable })
    }

    #[test]
    fn a_caller_at_its_limit_does_not_restrict_other_callers() {
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
    fn the_limit_in_total_applies_to_all_callers() {
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
    fn an_amount_beyond_the_limits_has_later_amounts_refused() {
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
    fn an_amount_over_a_limit_is_accepted_alone_if_the_gauge_allows_it() {
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
    fn without_authentication_only_the_limit_in_total_applies() {
        let gauge = gauge(3, 1);
        let _permit = gauge.take(&Principal::Open, 3).unwrap();
        assert_eq!(gauge.take(&Principal::Open, 1).unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(gauge.callers.len(), 0);
    }
}
