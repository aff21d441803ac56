//! Recovery of tasks without a runner, so that no task stays at work for ever.
//!
//! A task is *settled* by a runner that claims the task: the turn runs again if the agent can resume, otherwise the task
//! fails with a reason. Tasks to settle are found in three ways:
//!
//! - The store reports *orphans*, which no live node owns: at the start, and in a cluster periodically (`cluster::adopt`).
//! - A runner that gives up, or a failed attempt to settle, puts the task into the recovery queue (`queue`).
//! - A periodic search finds *zombies*: tasks that this node owns by the store but does not run (`zombies`).

mod queue;
mod zombies;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use nuncio_model::{Error, ErrorKind, Scope, TaskId};

pub(crate) use queue::RecoveryQueue;
pub(crate) use zombies::{Zombies, watch};

use crate::{conversation::done, inbox::Control, shared::Shared, store::Orphan};

/// The number of orphans in one query.
const PAGE: usize = 100;

/// The number of tasks that are settled at the same time.
const AT_ONCE: usize = 32;

/// The reason of failure for a task of a failed node.
pub(crate) const ABANDONED: &str = "the server stopped while the agent was at work";

/// The reason of failure for a task that a runner of this node gave up.
pub(crate) const GIVEN_UP: &str = "the task store failed while the agent was at work";

/// The result of [`Engine::recover`](crate::Engine::recover).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// The number of settled tasks: their turns run again, or they failed.
    pub settled: usize,
    /// The number of tasks that could not be settled, for example damaged tasks. The log names the reason. Each task is
    /// retried until settled.
    pub put_off: usize,
}

/// Settles every task that a crash left running. Tasks that cannot be settled are retried later.
///
/// First the store is marked as the store of this agent, because an agent must not run the tasks of another agent.
pub(crate) async fn recover(shared: &Arc<Shared>) -> Result<Recovered, Error> {
    let agent = shared.store_owner.as_deref().unwrap_or(&shared.card.name);
    if let Some(other) = shared.store.belongs_to(agent, shared.adopts).await? {
        let message = format!(
            "the store holds tasks of the agent `{other}`, and this agent is `{agent}`; give this agent a store of its \
             own, or take the tasks over with EngineBuilder::adopt"
        );
        return Err(Error::new(ErrorKind::Internal, message));
    }
    let recovered = adopt(shared).await?;
    if recovered.settled > 0 {
        let tasks = recovered.settled;
        if shared.agent.resumes() {
            tracing::info!(
                tasks,
                "recovery: took over tasks that were running when the server stopped; their turns run again"
            );
        } else {
            tracing::info!(
                tasks,
                "recovery: settled tasks that were running when the server stopped; aborted turns failed"
            );
        }
    }
    Ok(recovered)
}

/// Settles all orphans, many at a time. Orphans that cannot be settled go to the recovery queue and do not delay others.
pub(crate) async fn adopt(shared: &Arc<Shared>) -> Result<Recovered, Error> {
    let mut adopted = Recovered::default();
    let mut last = Vec::new();
    loop {
        // Tasks in the recovery queue come first in the result until they are settled.
        let limit = PAGE + shared.recovery_queue.len();
        let mut orphans = shared.store.orphans(limit).await?;
        let is_last = orphans.len() < limit;
        orphans.retain(|orphan| !shared.recovery_queue.has(&orphan.scope, &orphan.id));
        if orphans.is_empty() || orphans == last {
            return Ok(adopted);
        }
        last.clone_from(&orphans);
        let tasks = orphans.into_iter().map(|task| Unsettled { task, reason: ABANDONED }).collect();
        for (orphan, outcome) in settle_all(shared, tasks).await {
            match outcome {
                Ok(()) => adopted.settled += 1,
                Err(error) => {
                    tracing::error!(task = %orphan.id, %error, "recovery: cannot settle a task; retrying later");
                    shared.settle_later_because(&orphan.scope, &orphan.id, ABANDONED);
                    adopted.put_off += 1;
                }
            }
        }
        if is_last || shared.turns.are_draining() {
            return Ok(adopted);
        }
    }
}

/// A task to settle, with the reason if the task fails.
struct Unsettled {
    task: Orphan,
    reason: &'static str,
}

/// Settles tasks, some at a time, and returns the outcomes.
async fn settle_all(shared: &Arc<Shared>, tasks: Vec<Unsettled>) -> Vec<(Orphan, Result<(), Error>)> {
    let settling = tasks.into_iter().map(|Unsettled { task, reason }| {
        let shared = Arc::clone(shared);
        async move {
            let settling = AssertUnwindSafe(settle(&shared, &task.scope, &task.id, reason)).catch_unwind();
            // If the store panics for one task, the others are settled nevertheless.
            let panicked = |_| Err(Error::new(ErrorKind::Internal, "the task store panicked"));
            let outcome = settling.await.unwrap_or_else(panicked);
            (task, outcome)
        }
    });
    stream::iter(settling).buffer_unordered(AT_ONCE).collect().await
}

/// Takes over a task without a runner: runs its turn again if the agent can resume, otherwise fails the task with `reason`.
/// Returns when the decision is stored, before the turn ends. If the task has a runner, the runner decides.
async fn settle(shared: &Arc<Shared>, scope: &Scope, id: &TaskId, reason: &'static str) -> Result<(), Error> {
    let task_ref = shared.attach(scope, id).await?;
    if task_ref.lock().task_state().is_terminal() {
        return Ok(());
    }
    done(shared, &task_ref, |told| Control::Settle(reason, told)).await
}
