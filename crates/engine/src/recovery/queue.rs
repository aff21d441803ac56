//! Tasks that this node knows to be at work with no runner: each is tried until it is settled, after pauses that grow.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Weak},
    time::Duration,
};

use nuncio_limit::{Backoff, Failures, Jitter};
use nuncio_model::{Error, ErrorKind, Scope, TaskId};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{GIVEN_UP, Unsettled, settle_all};
use crate::{shared::Shared, store::Orphan};

/// The delays of attempts at a task. The first attempt too comes after a delay.
const RETRY: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_mins(1), jitter: Jitter::None };

/// The delays while the store is unavailable or a limit is reached.
const OUTAGE: Backoff = Backoff { longest: Duration::from_secs(1), ..RETRY };

/// How long a settled task is remembered, so that a task that is given up repeatedly is not run without a delay.
const REMEMBERED: Duration = RETRY.longest;

/// Tasks that are to be settled.
#[derive(Default)]
pub(crate) struct RecoveryQueue {
    tasks: Mutex<Tasks>,
    more: Arc<Notify>,
}

#[derive(Default)]
struct Tasks {
    known: HashMap<(Scope, TaskId), Known>,
    /// Whether somebody is at them.
    tended: bool,
}

struct Known {
    stage: Stage,
    failures: Failures,
    /// Why it fails, where it does.
    reason: &'static str,
}

enum Stage {
    /// The next attempt is to be then.
    Due(Instant),
    /// One is being made. Whether the task was given up meanwhile.
    UnderWay(bool),
    /// One succeeded then.
    Settled(Instant),
    /// The store can never hold the task. There are no more attempts.
    TooLarge,
}

impl Known {
    fn is_unsettled(&self) -> bool {
        !matches!(self.stage, Stage::Settled(_) | Stage::TooLarge)
    }

    fn put_off(&mut self, schedule: &Backoff) {
        self.stage = Stage::Due(Instant::now() + self.failures.next_delay(schedule));
    }

    /// It was given up, or could not be settled by somebody else.
    fn give_up_again(&mut self, reason: &'static str) {
        match &mut self.stage {
            Stage::Due(_) | Stage::TooLarge => {}
            Stage::UnderWay(again) => *again = true,
            Stage::Settled(at) => {
                if at.elapsed() > REMEMBERED {
                    self.failures.reset();
                }
                self.reason = reason;
                self.put_off(&RETRY);
            }
        }
    }

    /// An attempt was made.
    fn tried(&mut self, outcome: &Result<(), Error>) {
        let again = matches!(self.stage, Stage::UnderWay(true));
        match outcome.as_ref().map_err(Error::kind) {
            Ok(()) if !again => self.stage = Stage::Settled(Instant::now()),
            Err(ErrorKind::Unavailable | ErrorKind::ResourceExhausted) => self.put_off(&OUTAGE),
            Err(ErrorKind::PayloadTooLarge) => self.stage = Stage::TooLarge,
            _ => self.put_off(&RETRY),
        }
    }
}

impl RecoveryQueue {
    /// Whether a task is to be settled already, or can never be.
    pub(crate) fn has(&self, scope: &Scope, id: &TaskId) -> bool {
        let tasks = self.tasks.lock();
        let known = if tasks.known.is_empty() { None } else { tasks.known.get(&(scope.clone(), id.clone())) };
        known.is_some_and(|known| !matches!(known.stage, Stage::Settled(_)))
    }

    /// Why a task fails that is to be settled, where it does.
    pub(crate) fn why(&self, scope: &Scope, id: &TaskId) -> Option<&'static str> {
        let tasks = self.tasks.lock();
        if tasks.known.is_empty() {
            return None;
        }
        let known = tasks.known.get(&(scope.clone(), id.clone()))?;
        known.is_unsettled().then_some(known.reason)
    }

    /// How many are to be settled.
    pub(crate) fn len(&self) -> usize {
        self.tasks.lock().known.values().filter(|known| known.is_unsettled()).count()
    }

    /// Takes those that are due. When the next will be, where none is; nothing where there are no tasks any more.
    fn take(&self) -> Option<Result<Vec<Unsettled>, Instant>> {
        let mut tasks = self.tasks.lock();
        let now = Instant::now();
        tasks.known.retain(|_, known| !matches!(known.stage, Stage::Settled(at) if now > at + REMEMBERED));
        if tasks.known.is_empty() {
            tasks.tended = false;
            return None;
        }
        let (mut due, mut next) = (Vec::new(), now + RETRY.longest);
        for ((scope, id), known) in &mut tasks.known {
            match known.stage {
                Stage::Due(at) if at <= now => {
                    known.stage = Stage::UnderWay(false);
                    let task = Orphan { scope: scope.clone(), id: id.clone() };
                    due.push(Unsettled { task, reason: known.reason });
                }
                Stage::Due(at) => next = next.min(at),
                Stage::UnderWay(_) | Stage::Settled(_) | Stage::TooLarge => {}
            }
        }
        Some(if due.is_empty() { Err(next) } else { Ok(due) })
    }

    fn tried(&self, task: Orphan, outcome: &Result<(), Error>) {
        let mut tasks = self.tasks.lock();
        let Entry::Occupied(mut known) = tasks.known.entry((task.scope, task.id)) else { return };
        if outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::TaskNotFound) {
            known.remove();
        } else {
            known.get_mut().tried(outcome);
        }
    }
}

impl Shared {
    /// Notes a task that may be at work in the store with nobody at work on it, and settles it as soon as the store can
    /// write. As many are kept as turns may run; those beyond are found by who looks for zombies.
    pub(crate) fn settle_later(self: &Arc<Self>, scope: &Scope, id: &TaskId) {
        self.settle_later_because(scope, id, GIVEN_UP);
    }

    /// The same, with a reason.
    pub(crate) fn settle_later_because(self: &Arc<Self>, scope: &Scope, id: &TaskId, reason: &'static str) {
        let mut tasks = self.recovery_queue.tasks.lock();
        if tasks.known.len() >= self.limits.running_turns {
            tasks.known.retain(|_, known| known.is_unsettled());
        }
        let room = tasks.known.len() < self.limits.running_turns;
        match tasks.known.entry((scope.clone(), id.clone())) {
            Entry::Occupied(mut known) => known.get_mut().give_up_again(reason),
            Entry::Vacant(vacant) if room => {
                let mut known = Known { stage: Stage::UnderWay(false), failures: Failures::default(), reason };
                known.put_off(&RETRY);
                vacant.insert(known);
            }
            Entry::Vacant(_) => {
                return tracing::warn!(task = %id, "too many tasks are to be settled; this one has to wait");
            }
        }
        if !std::mem::replace(&mut tasks.tended, true) {
            Self::spawn(tend(Arc::downgrade(self)));
        }
        drop(tasks);
        self.recovery_queue.more.notify_one();
    }
}

/// Settles abandoned tasks until there are none.
async fn tend(shared: Weak<Shared>) {
    let Some((more, left)) =
        shared.upgrade().map(|it| (Arc::clone(&it.recovery_queue.more), it.members.left().clone()))
    else {
        return;
    };
    loop {
        let next = {
            // Not for as long as the pause: the engine may be gone meanwhile.
            let Some(shared) = shared.upgrade() else { return };
            match shared.recovery_queue.take() {
                None => return,
                Some(Err(next)) => next,
                Some(Ok(due)) => {
                    settle_due(&shared, due).await;
                    continue;
                }
            }
        };
        select! {
            () = sleep_until(next) => {}
            () = more.notified() => {}
            () = left.cancelled() => return,
        }
    }
}

async fn settle_due(shared: &Arc<Shared>, due: Vec<Unsettled>) {
    for (task, outcome) in settle_all(shared, due).await {
        match &outcome {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::PayloadTooLarge => {
                tracing::error!(task = %task.id, %error, "recovery: cannot end the task; it stays until it is erased");
            }
            Err(error) => tracing::warn!(task = %task.id, %error, "an abandoned task is not settled yet"),
        }
        shared.recovery_queue.tried(task, &outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, agent_fn};

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_is_dropped_is_not_kept_for_what_is_to_be_settled() {
        let engine = Engine::builder(agent_fn(|_| async { Ok(()) })).build();
        let shared = Arc::downgrade(engine.shared());
        engine.shared().settle_later(&Scope::open(), &TaskId::from("abandoned"));
        // Less than the delay before the first attempt.
        tokio::time::sleep(RETRY.first / 2).await;
        drop(engine);
        assert!(shared.upgrade().is_none());
    }
}
