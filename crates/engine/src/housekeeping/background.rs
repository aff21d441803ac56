//! The background work of housekeeping: ends questions without an answer, deletes old tasks, logs and message ids, and
//! detects deleted tasks with readers. In a cluster each node does this; a task is ended by the node that claims it.

use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_model::{Error, ErrorKind, TaskState, Timestamp};
use tokio::{select, time::Instant};

use crate::{
    conversation::done,
    housekeeping::{Housekeeping, Swept, ago},
    inbox::Control,
    shared::Shared,
    store::Orphan,
};

/// The number of tasks in one query.
const PAGE: usize = 100;

/// The period of less urgent work.
const NOW_AND_THEN: Duration = Duration::from_mins(1);

/// The states in which a task waits for its client.
const INTERRUPTED: [TaskState; 2] = [TaskState::InputRequired, TaskState::AuthRequired];

/// The background housekeeping of an engine.
#[derive(Default)]
pub(crate) struct BackgroundHousekeeping {
    pub(crate) settings: Housekeeping,
    begun: AtomicBool,
}

impl BackgroundHousekeeping {
    pub(crate) fn new(settings: Housekeeping) -> Self {
        Self { settings, begun: AtomicBool::new(false) }
    }
}

/// Starts housekeeping, which ends with the engine.
pub(crate) fn begin(shared: &Arc<Shared>) {
    if !shared.housekeeping.begun.swap(true, Ordering::Relaxed) {
        Shared::spawn(run(Arc::downgrade(shared)));
    }
}

async fn run(shared: Weak<Shared>) {
    let Some((left, period)) =
        shared.upgrade().map(|it| (it.members.left().clone(), it.housekeeping.settings.period()))
    else {
        return;
    };
    let mut looked_round: Option<Instant> = None;
    while let Some(shared) = Shared::after(&shared, &left, scattered(period)).await {
        let is_time = looked_round.is_none_or(|last| last.elapsed() >= NOW_AND_THEN / 2);
        if is_time {
            looked_round = Some(Instant::now());
        }
        select! {
            () = run_once(&shared, is_time) => {}
            () = left.cancelled() => return,
        }
    }
}

/// Varies the period, so that nodes started at the same time do not run housekeeping at the same time.
fn scattered(period: Duration) -> Duration {
    let share = uuid::Uuid::new_v4().as_bytes()[15];
    period * (224 + u32::from(share) / 4) / 256
}

async fn run_once(shared: &Arc<Shared>, is_time: bool) {
    if shared.turns.are_draining() {
        return;
    }
    let settings = &shared.housekeeping.settings;
    if let Some(expiry) = settings.interrupted_expiry
        && let Err(error) = expire(shared, expiry).await
    {
        tracing::warn!(%error, "housekeeping: cannot end expired tasks; retrying");
    }
    let is_less = match settings.sweep(&*shared.store).await {
        Ok(swept) if swept == Swept::default() => false,
        Ok(Swept { tasks, logs }) => {
            tracing::info!(tasks, logs, "housekeeping: deleted old tasks and logs");
            tasks > 0
        }
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "housekeeping: cannot delete old tasks or logs; retrying"
            );
            true
        }
    };
    if (is_less || is_time)
        && let Err(error) = shared.find_deleted().await
    {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "housekeeping: cannot check for deleted tasks; readers learn of deletions later"
        );
    }
    if is_time {
        forget_messages(shared).await;
    }
}

/// Deletes expired message ids, also if no new message arrives.
async fn forget_messages(shared: &Shared) {
    let is_shared = shared.store.cluster().is_some();
    if let Some(before) = shared.idempotency.useless_before(is_shared)
        && let Err(error) = shared.store.forget_messages(before).await
    {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "housekeeping: cannot delete old message ids; retrying"
        );
    }
}

/// Ends the tasks after a wait of `expiry` for their client. Failed attempts are repeated the next time.
async fn expire(shared: &Arc<Shared>, expiry: Duration) -> Result<(), Error> {
    let Some(before) = ago(shared.store.now().await?, expiry) else { return Ok(()) };
    let (mut failed, mut failure) = (HashSet::new(), None);
    let mut last = Vec::new();
    loop {
        // Failed tasks come first in the result.
        let limit = PAGE + failed.len();
        let mut resting = shared.store.resting(&INTERRUPTED, before, limit).await?;
        let is_last = resting.len() < limit;
        resting.retain(|task| !failed.contains(task));
        if resting == last {
            break;
        }
        for task in &resting {
            match end(shared, task, before).await {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::TaskNotFound => {}
                // The store is unavailable, so other tasks would fail too.
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                Err(error) => {
                    tracing::debug!(task = %task.id, %error, "housekeeping: cannot end an expired task; retrying");
                    failed.insert(task.clone());
                    failure = Some(error);
                }
            }
        }
        if is_last {
            break;
        }
        last = resting;
    }
    failure.map_or(Ok(()), Err)
}

/// Ends a task unless a runner works on it. Returns when the end is stored. If a message has just arrived, its turn is not
/// awaited.
async fn end(shared: &Arc<Shared>, task: &Orphan, before: Timestamp) -> Result<(), Error> {
    let task_ref = shared.attach(&task.scope, &task.id).await?;
    done(shared, &task_ref, |told| Control::Expire(before, told)).await
}
