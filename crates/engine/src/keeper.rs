//! The keeper: ends questions that nobody answers, deletes what is old and drops logs, now and then, for as long as the
//! engine lives. Where several nodes share the store each has one: a task is ended by whoever claims it.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_model::{Error, TaskState, Timestamp};
use tokio::{select, sync::oneshot, time::sleep};

use crate::{
    conversation::start,
    housekeeping::{Housekeeping, Swept, ago},
    inbox::Control,
    shared::Shared,
    store::Orphan,
};

/// How many tasks are looked up at a time.
const PAGE: usize = 100;

/// The states in which a task waits for its client.
const INTERRUPTED: [TaskState; 2] = [TaskState::InputRequired, TaskState::AuthRequired];

/// The keeper of an engine.
#[derive(Default)]
pub(crate) struct Keeper {
    pub(crate) settings: Housekeeping,
    begun: AtomicBool,
}

impl Keeper {
    pub(crate) fn new(settings: Housekeeping) -> Self {
        Self { settings, begun: AtomicBool::new(false) }
    }
}

/// Begins to keep house, if there is anything to do; it ends with the engine.
pub(crate) fn begin(shared: &Arc<Shared>) {
    let keeper = &shared.keeper;
    if !keeper.settings.is_idle() && !keeper.begun.swap(true, Ordering::Relaxed) {
        Shared::spawn(keep(Arc::downgrade(shared)));
    }
}

async fn keep(shared: Weak<Shared>) {
    let Some((left, period)) = shared.upgrade().map(|it| (it.members.left().clone(), it.keeper.settings.period()))
    else {
        return;
    };
    loop {
        select! {
            () = sleep(scattered(period)) => {}
            () = left.cancelled() => return,
        }
        let Some(shared) = shared.upgrade() else { return };
        select! {
            () = round(&shared) => {}
            () = left.cancelled() => return,
        }
    }
}

/// Nodes that were started together are not to come at the same time for ever.
fn scattered(period: Duration) -> Duration {
    let share = uuid::Uuid::now_v7().as_bytes()[15];
    period * (224 + u32::from(share) / 4) / 256
}

async fn round(shared: &Arc<Shared>) {
    if shared.turns.are_draining() {
        return;
    }
    let settings = &shared.keeper.settings;
    let before = settings.interrupted_expiry.and_then(|expiry| ago(Timestamp::now(), expiry));
    if let Some(before) = before
        && let Err(error) = expire(shared, before).await
    {
        tracing::warn!(%error, "tasks that wait for too long are not ended yet");
    }
    match settings.sweep(&*shared.store).await {
        Ok(swept) if swept == Swept::default() => {}
        Ok(Swept { tasks, logs }) => tracing::info!(tasks, logs, "deleted tasks that were old, and dropped logs"),
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "what is old is not deleted yet");
        }
    }
}

/// Ends the tasks that have waited for their client since before this moment.
async fn expire(shared: &Arc<Shared>, before: Timestamp) -> Result<(), Error> {
    loop {
        let resting = shared.store.resting(&INTERRUPTED, before, PAGE).await?;
        let mut failure = None;
        for task in &resting {
            if let Err(error) = end(shared, task, before).await {
                failure = Some(error);
            }
        }
        match failure {
            // It comes again the next time.
            Some(error) => return Err(error),
            None if resting.len() < PAGE => return Ok(()),
            None => {}
        }
    }
}

/// Ends one, by a runner of its own, unless somebody is at it.
async fn end(shared: &Arc<Shared>, task: &Orphan, before: Timestamp) -> Result<(), Error> {
    let hold = shared.attach(&task.scope, &task.id).await?;
    let (refused, mut told) = oneshot::channel();
    if let Some(runner) = start(shared, &hold, Control::Expire(before, refused))? {
        runner.until(|| None::<()>).await;
    }
    told.try_recv().map_or(Ok(()), Err)
}
