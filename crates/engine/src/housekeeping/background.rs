//! The keeper: ends questions that nobody answers, deletes what is old and drops logs, has the store forget messages,
//! and looks whether tasks were deleted that somebody reads; now and then, for as long as the engine lives. Where
//! several nodes share the store each has one: a task is ended by whoever claims it.

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

/// How many tasks are looked up at a time.
const PAGE: usize = 100;

/// How often is done what needs no haste.
const NOW_AND_THEN: Duration = Duration::from_mins(1);

/// The states in which a task waits for its client.
const INTERRUPTED: [TaskState; 2] = [TaskState::InputRequired, TaskState::AuthRequired];

/// The keeper of an engine.
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

/// Begins to keep house; it ends with the engine.
pub(crate) fn begin(shared: &Arc<Shared>) {
    if !shared.housekeeping.begun.swap(true, Ordering::Relaxed) {
        Shared::spawn(keep(Arc::downgrade(shared)));
    }
}

async fn keep(shared: Weak<Shared>) {
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
            () = round(&shared, is_time) => {}
            () = left.cancelled() => return,
        }
    }
}

/// Nodes that were started together are not to come at the same time for ever.
fn scattered(period: Duration) -> Duration {
    let share = uuid::Uuid::new_v4().as_bytes()[15];
    period * (224 + u32::from(share) / 4) / 256
}

async fn round(shared: &Arc<Shared>, is_time: bool) {
    if shared.turns.are_draining() {
        return;
    }
    let settings = &shared.housekeeping.settings;
    if let Some(expiry) = settings.interrupted_expiry
        && let Err(error) = expire(shared, expiry).await
    {
        tracing::warn!(%error, "tasks that wait for too long are not ended yet");
    }
    let is_less = match settings.sweep(&*shared.store).await {
        Ok(swept) if swept == Swept::default() => false,
        Ok(Swept { tasks, logs }) => {
            tracing::info!(tasks, logs, "deleted tasks that were old, and dropped logs");
            tasks > 0
        }
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "what is old is not deleted yet");
            true
        }
    };
    if (is_less || is_time)
        && let Err(error) = shared.find_deleted().await
    {
        tracing::warn!(error = &error as &dyn std::error::Error, "it is not known whether tasks were deleted");
    }
    if is_time {
        forget_messages(shared).await;
    }
}

/// Tells the store which messages nobody asks for any more: also where none comes that would say so.
async fn forget_messages(shared: &Shared) {
    let is_shared = shared.store.cluster().is_some();
    if let Some(before) = shared.idempotency.useless_before(is_shared)
        && let Err(error) = shared.store.forget_messages(before).await
    {
        tracing::warn!(error = &error as &dyn std::error::Error, "messages are not forgotten yet");
    }
}

/// Ends the tasks that have waited for their client for this long. Those that cannot be ended come again the next time.
async fn expire(shared: &Arc<Shared>, expiry: Duration) -> Result<(), Error> {
    let Some(before) = ago(shared.store.now().await?, expiry) else { return Ok(()) };
    let (mut failed, mut failure) = (HashSet::new(), None);
    let mut last = Vec::new();
    loop {
        // Those that failed come before the others.
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
                // It is not this task's fault.
                Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                Err(error) => {
                    tracing::debug!(task = %task.id, %error, "a task that waits for too long is not ended yet");
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

/// Ends one, unless somebody is at it. Waits until that is written, but for no turn: a message may have come just now.
async fn end(shared: &Arc<Shared>, task: &Orphan, before: Timestamp) -> Result<(), Error> {
    let task_ref = shared.attach(&task.scope, &task.id).await?;
    done(shared, &task_ref, |told| Control::Expire(before, told)).await
}
