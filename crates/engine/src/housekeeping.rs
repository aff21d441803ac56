//! How long tasks, their logs and questions without an answer are kept. Nothing goes unless it was said.

mod background;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::Write as _,
    time::Duration,
};

use nuncio_model::{TaskState, Tenant, Timestamp};

pub(crate) use background::{BackgroundHousekeeping, begin};

use crate::store::{Purge, StoreError, TaskStore};

/// Tasks that are purged, and logs that are dropped, in one call of the store. It does so in steps of its own, and may
/// have to look anew where it was at each call.
const PAGE: usize = 10_000;

/// How long tasks are kept that nobody is at work on, by state and since they came to it. Those in a state that is not
/// named are kept for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention(BTreeMap<i32, (TaskState, Duration)>);

impl Retention {
    /// All for ever.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps tasks in this state for so long. One that is parked in it may be told to go, too.
    pub fn with(mut self, state: TaskState, time: Duration) -> Self {
        self.0.insert(state.number(), (state, time));
        self
    }

    /// Whether all are kept for ever.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is to go now, states that are kept for the same time together.
    fn purges(&self, now: Timestamp) -> impl Iterator<Item = Purge> {
        let mut by_time = BTreeMap::<Duration, Vec<TaskState>>::new();
        for (state, time) in self.0.values() {
            by_time.entry(*time).or_default().push(*state);
        }
        by_time.into_iter().filter_map(move |(time, states)| {
            let before = ago(now, time)?;
            Some(Purge { limit: PAGE, ..Purge::new(states, before) })
        })
    }
}

/// What becomes of tasks that nobody wants any more. By default nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Housekeeping {
    /// How long tasks are kept.
    pub retention: Retention,
    /// Tenants with a rule of their own, which stands in the place of the general one.
    pub tenants: BTreeMap<Tenant, Retention>,
    /// How long the records of a task are kept once it has ended or is parked; a reader that comes later reads the
    /// task. `None` leaves it to the store.
    pub log_retention: Option<Duration>,
    /// How long a task may wait for its client before it fails. `None` for ever.
    pub interrupted_expiry: Option<Duration>,
}

/// What one round of housekeeping did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Tasks that were deleted.
    pub tasks: usize,
    /// Tasks whose logs were dropped.
    pub logs: usize,
}

impl Housekeeping {
    /// Whether there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.retention.is_empty()
            && self.tenants.values().all(Retention::is_empty)
            && self.log_retention.is_none()
            && self.interrupted_expiry.is_none()
    }

    /// Adds a general rule; one for the same state is replaced.
    pub fn with_rule(mut self, state: TaskState, time: Duration) -> Self {
        self.retention = self.retention.with(state, time);
        self
    }

    /// Adds a rule of a tenant, for which the general ones then do not hold; `None` keeps its tasks in that state for
    /// ever. One for the same tenant and state is replaced.
    pub fn with_tenant_rule(mut self, tenant: Tenant, state: TaskState, time: Option<Duration>) -> Self {
        let rules = match self.tenants.entry(tenant) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Retention::new()),
        };
        match time {
            Some(time) => drop(rules.0.insert(state.number(), (state, time))),
            None => drop(rules.0.remove(&state.number())),
        }
        self
    }

    /// The purges that are due now.
    pub fn purges(&self, now: Timestamp) -> Vec<Purge> {
        let except: Vec<_> = self.tenants.keys().cloned().collect();
        let general = self.retention.purges(now).map(|purge| Purge { except: except.clone(), ..purge });
        let own = self.tenants.iter().flat_map(|(tenant, retention)| {
            retention.purges(now).map(|purge| Purge { tenant: Some(tenant.clone()), ..purge })
        });
        general.chain(own).collect()
    }

    /// Deletes what is older than it is kept, and drops logs, until there is no more of it. What fails keeps nothing
    /// else from going: the next rule has its turn all the same. How old something is goes by the store's clock.
    ///
    /// # Errors
    ///
    /// The first of the store; what went is gone.
    pub async fn sweep(&self, store: &dyn TaskStore) -> Result<Swept, StoreError> {
        if self.is_idle() {
            return Ok(Swept::default());
        }
        let (now, mut swept, mut failure) = (store.now().await?, Swept::default(), None);
        if let Some(before) = self.log_retention.and_then(|time| ago(now, time)) {
            let dropped = until_done(PAGE, &mut swept.logs, || store.compact(before, PAGE)).await;
            failure = failure.or(dropped.err());
        }
        for purge in self.purges(now) {
            let purged = until_done(purge.limit, &mut swept.tasks, || store.purge(&purge)).await;
            failure = failure.or(purged.err());
        }
        failure.map_or(Ok(swept), Err)
    }

    /// How often it is to be looked: often enough that nothing stays for a tenth longer, but for short times; once a
    /// minute where there is nothing to do.
    pub(crate) fn period(&self) -> Duration {
        let retentions = self.tenants.values().chain([&self.retention]);
        let times = retentions.flat_map(|retention| retention.0.values().map(|(_, time)| *time));
        let shortest = times.chain(self.log_retention).chain(self.interrupted_expiry).min();
        (shortest.unwrap_or(Duration::MAX) / 10).clamp(Duration::from_millis(50), Duration::from_mins(1))
    }
}

/// Does something until it does less than it may, and counts.
async fn until_done<F>(limit: usize, count: &mut usize, step: impl Fn() -> F) -> Result<(), StoreError>
where
    F: Future<Output = Result<usize, StoreError>>,
{
    loop {
        let done = step().await?;
        *count += done;
        if done < limit {
            return Ok(());
        }
    }
}

/// The moment so long before another; `None` where nothing is as old as that.
pub(crate) fn ago(now: Timestamp, time: Duration) -> Option<Timestamp> {
    let time = i64::try_from(time.as_millis()).ok()?;
    Timestamp::from_millisecond(now.as_millisecond().checked_sub(time)?)
}

/// A duration for people: `7d`, `1h 30m`, `250ms`.
pub(crate) fn in_words(time: Duration) -> String {
    let mut rest = time.as_millis();
    let mut words = String::new();
    for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")] {
        let count = rest / unit;
        rest %= unit;
        if count > 0 {
            let space = if words.is_empty() { "" } else { " " };
            // Writing to a string does not fail.
            let _ = write!(words, "{space}{count}{name}");
        }
    }
    if words.is_empty() { "0s".to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn states_of_one_time_go_together_and_tenants_have_their_own() {
        let now = Timestamp::from_millisecond(1_769_860_800_000).unwrap();
        let (completed, failed, canceled) = (TaskState::Completed, TaskState::Failed, TaskState::Canceled);
        let mut house = Housekeeping::default();
        assert!(house.is_idle() && house.purges(now).is_empty());
        house.retention = Retention::new().with(completed, DAY).with(failed, 2 * DAY).with(canceled, DAY);
        house = house.with_tenant_rule("a".into(), failed, Some(DAY)).with_tenant_rule("b".into(), completed, None);
        let purges = house.purges(now);
        let told: Vec<_> = purges
            .iter()
            .map(|it| {
                (
                    it.tenant.as_ref().map(Tenant::as_str),
                    it.states.clone(),
                    now.as_millisecond() - it.before.as_millisecond(),
                )
            })
            .collect();
        let day = 86_400_000;
        let expected =
            [(None, vec![completed, canceled], day), (None, vec![failed], 2 * day), (Some("a"), vec![failed], day)];
        assert_eq!(told, expected);
        assert_eq!(purges[0].except, ["a", "b"].map(Tenant::from));
        assert!(purges[2].except.is_empty());
    }

    #[test]
    fn what_is_kept_for_longer_than_there_is_time_is_kept() {
        let house =
            Housekeeping { retention: Retention::new().with(TaskState::Failed, Duration::MAX), ..Default::default() };
        assert!(house.purges(Timestamp::now()).is_empty() && !house.is_idle());
    }

    #[test]
    fn durations_are_said_in_few_words() {
        for (time, words) in
            [(7 * DAY, "7d"), (Duration::from_mins(90), "1h 30m"), (Duration::from_millis(250), "250ms")]
        {
            assert_eq!(in_words(time), words);
        }
        assert_eq!(in_words(Duration::ZERO), "0s");
    }
}
