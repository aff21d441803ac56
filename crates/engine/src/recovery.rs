//! What becomes of tasks whose runner is gone: no task stays at work for ever.

use std::{
    collections::HashSet,
    sync::{Arc, Weak},
    time::Duration,
};

use nuncio_model::{Error, ErrorKind, Scope, TaskId};
use parking_lot::Mutex;
use tokio::{sync::oneshot, time::sleep};

use crate::{conversation::start, inbox::Control, shared::Shared};

/// How many orphans are looked up at a time.
const PAGE: usize = 100;

/// Why a task fails whose node is gone.
pub(crate) const ABANDONED: &str = "the server stopped while the agent was at work";

/// How long to wait between attempts to settle abandoned tasks: the first time, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Settles every task that a crash left running.
pub(crate) async fn recover(shared: &Arc<Shared>) -> Result<(), Error> {
    let mut failure = None;
    loop {
        let orphans = shared.store.orphans(PAGE).await?;
        let mut any_settled = false;
        for orphan in &orphans {
            let settled = settle(shared, &orphan.scope, &orphan.id, ABANDONED);
            match settled.await {
                Ok(()) => any_settled = true,
                Err(error) => {
                    tracing::error!(task = %orphan.id, %error, "a task that was running could not be settled");
                    failure = Some(error);
                }
            }
        }
        // Those that failed come again, for as long as there are others among them.
        if !any_settled {
            return failure.map_or(Ok(()), Err);
        }
        tracing::info!(tasks = orphans.len(), "settled tasks that were running when the server stopped");
    }
}

/// Settles what nodes left running that are gone, once.
pub(crate) async fn adopt(shared: &Arc<Shared>) -> Result<(), Error> {
    for orphan in shared.store.orphans(PAGE).await? {
        if let Err(error) = settle(shared, &orphan.scope, &orphan.id, ABANDONED).await {
            tracing::warn!(task = %orphan.id, %error, "a task of a node that is gone is not settled yet");
        }
    }
    Ok(())
}

/// Takes over a task without a runner: runs its turn again where the agent can, fails it with `reason` otherwise.
async fn settle(shared: &Arc<Shared>, scope: &Scope, id: &TaskId, reason: &'static str) -> Result<(), Error> {
    let hold = shared.attach(scope, id).await?;
    {
        let inner = hold.lock();
        if inner.running || inner.state().is_terminal() {
            return Ok(());
        }
    }
    let (refused, mut told) = oneshot::channel();
    if let Some(runner) = start(shared, &hold, Control::Settle(reason, refused))? {
        // A turn that is run again is not waited for.
        let resumes = shared.agent.resumes() || hold.lock().state().is_interrupted();
        runner.until(|| (resumes && hold.lock().epoch.is_some()).then_some(())).await;
    }
    match told.try_recv() {
        Ok(error) => Err(error),
        Err(_) => hold.lock().broken.clone().map_or(Ok(()), Err),
    }
}

/// Tasks that the store could not be told the end of.
#[derive(Default)]
pub(crate) struct Abandoned(Mutex<Tasks>);

#[derive(Default)]
struct Tasks {
    waiting: HashSet<(Scope, TaskId)>,
    /// Whether somebody is at them.
    tended: bool,
}

impl Shared {
    /// Notes a task that may be at work in the store with nobody at work on it, and settles it when the store can write
    /// again. As many are kept as turns may run; those beyond are settled at the next start.
    pub(crate) fn abandon(self: &Arc<Self>, scope: &Scope, id: &TaskId) {
        let mut tasks = self.abandoned.0.lock();
        if tasks.waiting.len() >= self.limits.running_turns {
            tracing::error!(task = %id, "too many tasks to settle; this one is left to the next start");
            return;
        }
        tasks.waiting.insert((scope.clone(), id.clone()));
        if !std::mem::replace(&mut tasks.tended, true) {
            Self::spawn(tend(Arc::downgrade(self)));
        }
    }
}

/// Settles abandoned tasks until there are none.
async fn tend(shared: Weak<Shared>) {
    let (mut pause, longest) = PAUSES;
    loop {
        sleep(pause).await;
        pause = longest.min(2 * pause);
        let Some(shared) = shared.upgrade() else { return };
        let tasks = {
            let mut tasks = shared.abandoned.0.lock();
            if tasks.waiting.is_empty() {
                tasks.tended = false;
                return;
            }
            std::mem::take(&mut tasks.waiting)
        };
        for (scope, id) in tasks {
            match settle(&shared, &scope, &id, "the task store failed while the agent was at work").await {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::ResourceExhausted) => {
                    shared.abandon(&scope, &id);
                }
                // It is not there, or somebody else has it, or it cannot be read.
                Err(error) => tracing::warn!(task = %id, %error, "an abandoned task was not settled"),
            }
        }
    }
}
