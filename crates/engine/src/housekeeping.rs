//! The rules of housekeeping: how long tasks, logs and questions without an answer are kept. By default, nothing is deleted.

mod background;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::Write as _,
    time::Duration,
};

use nuncio_model::{TaskState, Tenant, Timestamp};

pub(crate) use background::{BackgroundHousekeeping, begin};

use crate::store::{Purge, StoreError, TaskStore};

/// The maximum of tasks or logs that one call of the store deletes. The store uses smaller steps, and may have to search for
/// its position in each call.
const PAGE: usize = 10_000;

/// How long tasks at rest are kept, by state and since the last change of state. Tasks in other states are kept for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention(BTreeMap<i32, (TaskState, Duration)>);

impl Retention {
    /// Keeps all tasks for ever.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps tasks in this state for this time. The state can also be `INPUT_REQUIRED` or `AUTH_REQUIRED`.
    pub fn with(mut self, state: TaskState, time: Duration) -> Self {
        self.0.insert(state.number(), (state, time));
        self
    }

    /// Whether all tasks are kept for ever.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The due purges, a single purge for all states with the same time.
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

/// When tasks, logs and questions are deleted or ended. By default never.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Housekeeping {
    /// The general rules for tasks.
    pub retention: Retention,
    /// Tenants with their own rules, which replace the general rules.
    pub tenants: BTreeMap<Tenant, Retention>,
    /// How long the records of a task are kept after the task has ended or was parked; a later reader reads the task.
    /// With `None` the store decides.
    pub log_retention: Option<Duration>,
    /// How long a task can wait for its client before the task fails. `None`: for ever.
    pub interrupted_expiry: Option<Duration>,
}

/// The result of one run of housekeeping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// The number of deleted tasks.
    pub tasks: usize,
    /// The number of deleted logs.
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

    /// Adds a general rule, or replaces the rule for the same state.
    pub fn with_rule(mut self, state: TaskState, time: Duration) -> Self {
        self.retention = self.retention.with(state, time);
        self
    }

    /// Adds a rule of a tenant, or replaces the rule for the same tenant and state. The general rules do not apply to this
    /// tenant. `None` keeps the tenant's tasks in that state for ever.
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

    /// The due purges.
    pub fn purges(&self, now: Timestamp) -> Vec<Purge> {
        let except: Vec<_> = self.tenants.keys().cloned().collect();
        let general = self.retention.purges(now).map(|purge| Purge { except: except.clone(), ..purge });
        let own = self.tenants.iter().flat_map(|(tenant, retention)| {
            retention.purges(now).map(|purge| Purge { tenant: Some(tenant.clone()), ..purge })
        });
        general.chain(own).collect()
    }

    /// Deletes all due tasks and logs. If a rule fails, the next rules are executed nevertheless. Ages are measured
    /// by the clock of the store.
    ///
    /// # Errors
    ///
    /// The first error of the store; earlier deletions remain.
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

    /// The period of housekeeping: a tenth of the shortest time, at least 50 ms and at most a minute.
    pub(crate) fn period(&self) -> Duration {
        let retentions = self.tenants.values().chain([&self.retention]);
        let times = retentions.flat_map(|retention| retention.0.values().map(|(_, time)| *time));
        let shortest = times.chain(self.log_retention).chain(self.interrupted_expiry).min();
        (shortest.unwrap_or(Duration::MAX) / 10).clamp(Duration::from_millis(50), Duration::from_mins(1))
    }
}

/// Repeats a step until the step does less than `limit`, and counts.
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

/// The time `time` before `now`; `None` if there is no such time.
pub(crate) fn ago(now: Timestamp, time: Duration) -> Option<Timestamp> {
    let time = i64::try_from(time.as_millis()).ok()?;
    Timestamp::from_millisecond(now.as_millisecond().checked_sub(time)?)
}

/// A duration as text: `7d`, `1h 30m`, `250ms`.
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
