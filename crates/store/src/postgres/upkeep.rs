//! What is done now and then: logs and messages that nobody needs any more go, and so do records of deleted tasks,
//! commands and nodes that are gone; counters are summed up. Each is a step of its own: what fails keeps no other from
//! its turn.

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

/// The delays between rounds: the shortest while the store is written to, longer while there is nothing to do.
const ROUNDS: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(30), jitter: Jitter::None };

/// The random part of the time of a full round, so that nodes that started together do not run it together.
const SCATTER: Jitter = Jitter::Between(0.75, 1.25);

/// How long it rests after a step that failed, at least.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Portions of a kind in a row; then others have their turn.
const PORTIONS: usize = 32;

/// How long a command stays that nobody came back for.
const COMMANDS: Duration = Duration::from_hours(24);

/// How often all totals are looked at, about: for what no node of those that live has counted.
const LOOK_AT_ALL: Duration = Duration::from_mins(5);

/// How often it is said that a step fails.
const COMPLAINTS: Duration = Duration::from_mins(1);

/// Ends when it is dropped.
pub(super) struct Upkeep {
    told: Arc<Told>,
    work: AbortHandle,
}

/// What the upkeep is told meanwhile.
#[derive(Default)]
struct Told {
    useless: Mutex<Option<Useless>>,
    totals: Totals,
    is_urgent: Notify,
}

/// Messages that nobody asks for any more, in milliseconds: those that were remembered before a time, by the clock of
/// this process, and for longer than that was ago, by the clock of the server, which is the one that they were
/// remembered by.
#[derive(Clone, Copy)]
struct Useless {
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
        let told = Arc::<Told>::default();
        let work = Work {
            chores,
            told: Arc::clone(&told),
            retention,
            looks_at_all: Instant::now() + SCATTER.of(ROUNDS.longest),
            complaints: HashMap::new(),
        };
        Self { told, work: tokio::spawn(work.run(has_written)).abort_handle() }
    }

    /// Nobody asks any more for messages that were remembered before this, as of now. What was said before does not
    /// count: a clock may have been ahead.
    pub(super) fn forget_before(&self, time: Timestamp, now: Timestamp) {
        let before = time.as_millisecond();
        *self.told.useless.lock() = Some(Useless { before, age: now.as_millisecond().saturating_sub(before) });
    }

    /// Does its work soon.
    pub(super) fn hurry(&self) {
        self.told.is_urgent.notify_one();
    }

    /// Notes a commit that changes how many tasks a scope has in some state.
    pub(super) fn counted(&self, scope: &Scope) {
        self.told.totals.note(scope);
    }
}

struct Work {
    chores: Arc<Chores>,
    told: Arc<Told>,
    retention: Duration,
    /// When all totals are looked at.
    looks_at_all: Instant,
    /// When it was said last that a step fails, by step.
    complaints: HashMap<&'static str, Instant>,
}

impl Work {
    async fn run(mut self, has_written: Arc<AtomicBool>) {
        let (mut rest, mut idle) = (ROUNDS.first, Failures::default());
        loop {
            select! {
                () = sleep(rest) => {}
                () = self.told.is_urgent.notified() => {}
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

    /// Whether there was something to do; `None` where a step failed.
    async fn tend(&mut self) -> Option<bool> {
        let steps = [
            ("logs that nobody needs any more are not dropped", self.drop_logs().await),
            ("records of tasks that were deleted are not dropped", self.drain().await),
            ("messages whose time is over are not forgotten", self.forget_messages().await),
            ("the numbers of tasks are not summed up", self.sum_up().await),
            ("commands that nobody came back for are not dropped", self.drop_commands().await),
            ("nodes that are gone are not dropped", self.drop_nodes().await),
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
            tracing::warn!(error, "{complaint}; it is tried again");
        } else {
            tracing::debug!(error, "{complaint}; it is tried again");
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
        if self.told.useless.lock().is_none() {
            return Ok(false);
        }
        // The clock first: a commit says what it asks for before it is written, so what is not said yet has a later
        // time.
        let now = now(self.chores.links()).await?.as_millisecond();
        let useless = *self.told.useless.lock();
        let Some(Useless { before, age }) = useless else { return Ok(false) };
        let before = before.min(now.saturating_sub(age.max(0)));
        for _ in 0..PORTIONS {
            if !self.chores.forget_messages(before).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn sum_up(&mut self) -> Result<bool, StoreError> {
        let crowded = self.told.totals.take_crowded();
        self.chores.sum_up(&crowded.iter().map(ScopeColumns::of).collect::<Result<Vec<_>, _>>()?).await?;
        if Instant::now() >= self.looks_at_all {
            self.looks_at_all = Instant::now() + SCATTER.of(LOOK_AT_ALL);
            self.chores.sum_up(&self.chores.crowded(MANY).await?).await?;
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

/// Does something until there is no more of it, or others have to have their turn. Whether there was something.
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
