//! What becomes of tasks whose runner is gone: no task stays at work for ever.
//!
//! Whoever finds one *settles* it, by a runner that claims it first: its turn is run again where the agent can, else it
//! fails with a reason. Three find them:
//!
//! - the store tells of *orphans*, which no node that lives is at work on: at the start, and where nodes share the
//!   store for as long as this one lives (`cluster::adopt`);
//! - a runner that gives up says so (`abandoned`), and so does whatever fails to settle a task: it is tried again;
//! - now and then this node looks through what the store says that it is at work on (`zombies`), for what nobody told
//!   of.

mod queue;
mod zombies;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use nuncio_model::{Error, ErrorKind, Scope, TaskId};

pub(crate) use queue::RecoveryQueue;
pub(crate) use zombies::{Zombies, watch};

use crate::{conversation::done, inbox::Control, shared::Shared, store::Orphan};

/// How many orphans are looked up at a time.
const PAGE: usize = 100;

/// How many tasks are settled at the same time.
const AT_ONCE: usize = 32;

/// Why a task fails whose node is gone.
pub(crate) const ABANDONED: &str = "the server stopped while the agent was at work";

/// Why a task fails that this node gave up.
pub(crate) const GIVEN_UP: &str = "the task store failed while the agent was at work";

/// What [`Engine::recover`](crate::Engine::recover) did with the tasks that a crash left at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// How many were settled: their turns are run again, or they failed.
    pub settled: usize,
    /// How many could not be settled yet: damaged ones, for example. The log says why; each is tried again until it is.
    pub put_off: usize,
}

/// Settles every task that a crash left running. Those that cannot be are tried again later.
///
/// The store is noted as that of the agent of this name first: what another agent left is not for this one.
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
            tracing::info!(tasks, "took over tasks that were running when the server stopped; their turns run again");
        } else {
            tracing::info!(
                tasks,
                "settled tasks that were running when the server stopped; turns that were cut off failed"
            );
        }
    }
    Ok(recovered)
}

/// Settles all orphans, many at once. Those that cannot be settled are put off, and are in nobody's way meanwhile.
pub(crate) async fn adopt(shared: &Arc<Shared>) -> Result<Recovered, Error> {
    let mut adopted = Recovered::default();
    let mut last = Vec::new();
    loop {
        // Those that were put off come before the others, for as long as they cannot be settled.
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
                    tracing::error!(task = %orphan.id, %error, "a task that was left at work is not settled yet");
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

/// A task that is to be settled, and why it fails where it does.
struct Unsettled {
    task: Orphan,
    reason: &'static str,
}

/// Settles tasks, some at a time. Gives what became of them.
async fn settle_all(shared: &Arc<Shared>, tasks: Vec<Unsettled>) -> Vec<(Orphan, Result<(), Error>)> {
    let settling = tasks.into_iter().map(|Unsettled { task, reason }| {
        let shared = Arc::clone(shared);
        async move {
            let settling = AssertUnwindSafe(settle(&shared, &task.scope, &task.id, reason)).catch_unwind();
            // A store that panics at one is to settle the others all the same.
            let panicked = |_| Err(Error::new(ErrorKind::Internal, "the task store panicked"));
            let outcome = settling.await.unwrap_or_else(panicked);
            (task, outcome)
        }
    });
    stream::iter(settling).buffer_unordered(AT_ONCE).collect().await
}

/// Takes over a task without a runner: runs its turn again where the agent can, fails it with `reason` otherwise. Waits
/// until that is decided and written, but for no turn. Where there is a runner, that one sees to it.
async fn settle(shared: &Arc<Shared>, scope: &Scope, id: &TaskId, reason: &'static str) -> Result<(), Error> {
    let task_ref = shared.attach(scope, id).await?;
    if task_ref.lock().task_state().is_terminal() {
        return Ok(());
    }
    done(shared, &task_ref, |told| Control::Settle(reason, told)).await
}
