//! Periodic housekeeping: deletes old logs, old message ids, the records of deleted tasks, old commands and expired
//! nodes, and sums up counters. The steps are independent: if one step fails, the others still run.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_engine::StoreError;
use nuncio_limit::{Backoff, Failures, Jitter};
use nuncio_model::{Scope, Timestamp};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::Notify,
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::{
    chores::{Chores, Dropped},
    read::now,
    statements::Sql,
    text::ScopeColumns,
    totals::{MANY, Totals},
};

/// The delays between rounds: short while the store is written to, longer while there is nothing to do.
const ROUNDS: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(30), jitter: Jitter::None };

/// The random part of the interval of a full round, so that nodes that started together do not run the round together.
const SCATTER: Jitter = Jitter::Between(0.75, 1.25);

/// The minimum pause after a failed step.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The maximum number of portions of a step in one round, so that the other steps also run.
const PORTIONS: usize = 32;

/// How long a command is kept that its sender did not delete.
const COMMANDS: Duration = Duration::from_hours(24);

/// The approximate interval at which the totals of all scopes are checked, for rows that no living node has counted.
const LOOK_AT_ALL: Duration = Duration::from_mins(5);

/// The minimum interval between two warnings about the same step.
const COMPLAINTS: Duration = Duration::from_mins(1);

/// Ends when this guard is dropped.
pub(super) struct Upkeep {
    requests: Arc<Requests>,
    work: AbortHandle,
}

/// The requests to the housekeeping task.
#[derive(Default)]
struct Requests {
    expired: Mutex<Option<Expired>>,
    totals: Totals,
    is_urgent: Notify,
}

/// The condition for message ids that may be deleted. Both values are in milliseconds: `before` is a time of this
/// process's clock, and `age` is how long ago this time was. A message id may be deleted if both clocks agree: the id
/// was stored before `before`, and the id is older than `age` by the server's clock. The server's clock determined the
/// stored time.
#[derive(Clone, Copy)]
struct Expired {
    before: i64,
    age: i64,
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Upkeep {
    pub(super) fn start(chores: Arc<Chores>, has_written: Arc<AtomicBool>, retention: Duration) -> Self {
        let requests = Arc::<Requests>::default();
        let work = Work {
            chores,
            requests: Arc::clone(&requests),
            retention,
            looks_at_all: Instant::now() + SCATTER.of(ROUNDS.longest),
            complaints: HashMap::new(),
        };
        Self { requests, work: tokio::spawn(work.run(has_written)).abort_handle() }
    }

    /// Allows the deletion of message ids that were stored before `time`; `now` is the current time. The call replaces
    /// earlier values, because an earlier clock may have been ahead.
    pub(super) fn forget_before(&self, time: Timestamp, now: Timestamp) {
        let before = time.as_millisecond();
        *self.requests.expired.lock() = Some(Expired { before, age: now.as_millisecond().saturating_sub(before) });
    }

    /// Requests a round soon.
    pub(super) fn hurry(&self) {
        self.requests.is_urgent.notify_one();
    }

    /// Counts a commit that changes the number of tasks of a scope in a state.
    pub(super) fn counted(&self, scope: &Scope) {
        self.requests.totals.note(scope);
    }
}

struct Work {
    chores: Arc<Chores>,
    requests: Arc<Requests>,
    retention: Duration,
    /// The time of the next check of all totals.
    looks_at_all: Instant,
    /// The time of the last warning, by step.
    complaints: HashMap<&'static str, Instant>,
}

impl Work {
    async fn run(mut self, has_written: Arc<AtomicBool>) {
        let (mut rest, mut idle) = (ROUNDS.first, Failures::default());
        loop {
            select! {
                () = sleep(rest) => {}
                () = self.requests.is_urgent.notified() => {}
            }
            let is_busy = has_written.swap(false, Ordering::Relaxed);
            let did = self.tend().await;
            if did.is_some_and(|did| did || is_busy) {
                idle.reset();
            }
            rest = idle.next_delay(&ROUNDS);
            if did.is_none() {
                rest = rest.max(AFTER_FAILURE);
            }
        }
    }

    /// Runs all steps. Returns whether there was something to do; `None` if a step failed.
    async fn tend(&mut self) -> Option<bool> {
        let steps = [
            ("cannot delete old logs", self.drop_logs().await),
            ("cannot delete the records of deleted tasks", self.drain().await),
            ("cannot delete old message ids", self.forget_messages().await),
            ("cannot sum up the task counters", self.sum_up().await),
            ("cannot delete old commands", self.drop_commands().await),
            ("cannot delete expired nodes", self.drop_nodes().await),
        ];
        let (mut did, mut failed) = (false, false);
        for (complaint, outcome) in steps {
            match outcome {
                Ok(something) => {
                    did |= something;
                    self.complaints.remove(complaint);
                }
                Err(error) => {
                    failed = true;
                    self.complain(complaint, &error);
                }
            }
        }
        (!failed).then_some(did)
    }

    fn complain(&mut self, complaint: &'static str, error: &StoreError) {
        let is_time = self.complaints.get(complaint).is_none_or(|last| last.elapsed() >= COMPLAINTS);
        let error = error as &dyn std::error::Error;
        if is_time {
            self.complaints.insert(complaint, Instant::now());
            tracing::warn!(error, "store: {complaint}; trying again later");
        } else {
            tracing::debug!(error, "store: {complaint}; trying again later");
        }
    }

    async fn drop_logs(&self) -> Result<bool, StoreError> {
        let now = now(self.chores.links()).await?.as_millisecond();
        let before = now.saturating_sub(i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX));
        in_portions(|| self.chores.drop_logs(before.saturating_add(1), Some(now), usize::MAX)).await
    }

    async fn drain(&self) -> Result<bool, StoreError> {
        in_portions(|| self.chores.drain(None)).await
    }

    async fn forget_messages(&self) -> Result<bool, StoreError> {
        if self.requests.expired.lock().is_none() {
            return Ok(false);
        }
        // The clock must be read first. A commit updates `expired` before it is written. Therefore a commit that has
        // not updated `expired` yet gets a later time.
        let now = now(self.chores.links()).await?.as_millisecond();
        let expired = *self.requests.expired.lock();
        let Some(Expired { before, age }) = expired else { return Ok(false) };
        let before = before.min(now.saturating_sub(age.max(0)));
        for _ in 0..PORTIONS {
            if !self.chores.forget_messages(before).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn sum_up(&mut self) -> Result<bool, StoreError> {
        let crowded = self.requests.totals.take_crowded();
        self.chores.sum_up(&crowded.iter().map(ScopeColumns::of).collect::<Result<Vec<_>, _>>()?).await?;
        if Instant::now() >= self.looks_at_all {
            self.looks_at_all = Instant::now() + SCATTER.of(LOOK_AT_ALL);
            self.chores.sum_up(&self.chores.crowded_scopes(MANY).await?).await?;
        }
        Ok(!crowded.is_empty())
    }

    async fn drop_commands(&self) -> Result<bool, StoreError> {
        self.chores.links().query(Sql::DropCommands, &[&COMMANDS.as_secs_f64()]).await.map(|_| false)
    }

    async fn drop_nodes(&self) -> Result<bool, StoreError> {
        self.chores.links().query(Sql::DropNodes, &[]).await.map(|_| false)
    }
}

/// Executes portions until nothing is left, or until the other steps must run. Returns whether there was something to
/// do.
async fn in_portions<F>(portion: impl Fn() -> F) -> Result<bool, StoreError>
where
    F: Future<Output = Result<Dropped, StoreError>>,
{
    for done in 0..PORTIONS {
        if portion().await?.is_nothing() {
            return Ok(done > 0);
        }
    }
    Ok(true)
}
