//! How many deliveries of one caller and of one host run at the same time, so that slow receivers delay nobody else.

use std::collections::HashMap;

use nuncio_model::Principal;

use super::receivers::Receivers;

/// The parts of the places of a dispatcher ([`DispatcherBuilder::concurrency`](super::DispatcherBuilder::concurrency)).
///
/// A host is *proven* if the host accepted the last notification within a second. An unknown, slow or silent host is
/// unproven. Without authentication all callers count as one, and the limits per caller do not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    /// The places of all unproven hosts together: three quarters.
    pub unproven: usize,
    /// The places of one unproven host: an eighth.
    pub unproven_per_host: usize,
    /// The places of the unproven hosts of one caller: a quarter.
    pub unproven_per_caller: usize,
    /// The places of all hosts of one caller: half.
    pub per_caller: usize,
}

impl Places {
    /// The parts of so many places. Each part is at least one place.
    pub const fn of(concurrency: usize) -> Self {
        Self {
            unproven: if concurrency < 4 { concurrency } else { concurrency - concurrency / 4 },
            unproven_per_host: concurrency.div_ceil(8),
            unproven_per_caller: concurrency.div_ceil(4),
            per_caller: concurrency.div_ceil(2),
        }
    }
}

/// The occupied places.
pub(super) struct Taken<'a> {
    places: Places,
    receivers: &'a Receivers,
    unproven: usize,
    hosts: HashMap<Box<str>, usize>,
    callers: HashMap<Principal, Caller>,
}

#[derive(Default)]
struct Caller {
    all: usize,
    unproven: usize,
}

impl<'a> Taken<'a> {
    pub(super) fn new(places: Places, receivers: &'a Receivers) -> Self {
        Self { places, receivers, unproven: 0, hosts: HashMap::new(), callers: HashMap::new() }
    }

    /// Counts a delivery.
    pub(super) fn add(&mut self, caller: &Principal, host: &str) {
        let unproven = usize::from(!self.receivers.is_proven(host));
        self.unproven += unproven;
        *self.hosts.entry(host.into()).or_default() += 1;
        let caller = self.callers.entry(caller.clone()).or_default();
        caller.all += 1;
        caller.unproven += unproven;
    }

    /// Whether there is a place for one more delivery of this caller to this host.
    pub(super) fn has_room(&self, caller: &Principal, host: &str) -> bool {
        let (none, is_counted) = (Caller::default(), *caller != Principal::Open);
        let caller = self.callers.get(caller).filter(|_| is_counted).unwrap_or(&none);
        if caller.all >= self.places.per_caller {
            return false;
        }
        self.receivers.is_proven(host)
            || (self.unproven < self.places.unproven
                && caller.unproven < self.places.unproven_per_caller
                && self.hosts.get(host).is_none_or(|taken| *taken < self.places.unproven_per_host))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn take_all<'a>(taken: &mut Taken<'_>, wanted: impl IntoIterator<Item = (&'a Principal, String)>) -> usize {
        let mut count = 0;
        for (caller, host) in wanted {
            if taken.has_room(caller, &host) {
                taken.add(caller, &host);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn each_part_is_a_part_of_all_and_at_least_one() {
        for concurrency in 1..100 {
            let places = Places::of(concurrency);
            for part in [places.unproven, places.unproven_per_host, places.unproven_per_caller, places.per_caller] {
                assert!((1..=concurrency).contains(&part), "{concurrency}: {places:?}");
            }
        }
    }

    #[test]
    fn unproven_hosts_leave_places_to_other_hosts_callers_and_proven_hosts() {
        let receivers = Receivers::default();
        receivers.note("http://good", Duration::ZERO, Duration::from_secs(15), true);
        let mut taken = Taken::new(Places::of(32), &receivers);
        let callers = ["a", "b", "c", "d"].map(Principal::named);
        let same = |caller| std::iter::repeat_n((caller, "bad".to_owned()), 100);
        let various = |caller| (0..100).map(move |host| (caller, format!("{host}")));
        assert_eq!(take_all(&mut taken, same(&callers[0])), 4);
        assert_eq!(take_all(&mut taken, various(&callers[0])), 4);
        assert_eq!(take_all(&mut taken, various(&callers[1])), 8);
        assert_eq!(take_all(&mut taken, various(&callers[2])), 8);
        assert_eq!(take_all(&mut taken, various(&callers[3])), 0);
        let good = |caller| std::iter::repeat_n((caller, "good".to_owned()), 100);
        assert_eq!(take_all(&mut taken, good(&callers[0])), 8);
        assert_eq!(take_all(&mut taken, good(&callers[3])), 16);
    }

    #[test]
    fn without_callers_the_parts_of_hosts_hold() {
        let receivers = Receivers::default();
        let mut taken = Taken::new(Places::of(32), &receivers);
        let hosts = (0..100).map(|host| (&Principal::Open, format!("{host}")));
        assert_eq!(take_all(&mut taken, hosts), 24);
        receivers.note("http://good", Duration::ZERO, Duration::from_secs(15), true);
        let good = std::iter::repeat_n((&Principal::Open, "good".to_owned()), 8);
        assert_eq!(take_all(&mut taken, good), 8);
    }
}
