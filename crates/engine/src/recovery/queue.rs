//! The recovery queue: tasks at work without a runner. Each task is retried with growing delays until settled.

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

/// The tasks to settle.
#[derive(Default)]
pub(crate) struct RecoveryQueue {
    tasks: Mutex<Tasks>,
    more: Arc<Notify>,
}

#[derive(Default)]
struct Tasks {
    known: HashMap<(Scope, TaskId), Known>,
    /// Whether a background task processes the queue.
    tended: bool,
}

struct Known {
    stage: Stage,
    failures: Failures,
    /// The reason, if the task fails.
    reason: &'static str,
}

enum Stage {
    /// The time of the next attempt.
    Due(Instant),
    /// An attempt is running. `true` if the task was given up again meanwhile.
    UnderWay(bool),
    /// The time of the successful attempt.
    Settled(Instant),
    /// The store can never hold the task. There are no more attempts until the task is erased.
    TooLarge,
}

impl Known {
    fn is_unsettled(&self) -> bool {
        !matches!(self.stage, Stage::Settled(_) | Stage::TooLarge)
    }

    fn put_off(&mut self, schedule: &Backoff) {
        self.stage = Stage::Due(Instant::now() + self.failures.next_delay(schedule));
    }

    /// A runner gave up the task, or another attempt to settle the task failed.
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

    /// Stores the outcome of an attempt.
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
    /// Whether the queue contains the task, or the task can never be settled.
    pub(crate) fn has(&self, scope: &Scope, id: &TaskId) -> bool {
        let tasks = self.tasks.lock();
        let known = if tasks.known.is_empty() { None } else { tasks.known.get(&(scope.clone(), id.clone())) };
        known.is_some_and(|known| !matches!(known.stage, Stage::Settled(_)))
    }

    /// The reason for a task in the queue, if the task fails.
    pub(crate) fn why(&self, scope: &Scope, id: &TaskId) -> Option<&'static str> {
        let tasks = self.tasks.lock();
        if tasks.known.is_empty() {
            return None;
        }
        let known = tasks.known.get(&(scope.clone(), id.clone()))?;
        known.is_unsettled().then_some(known.reason)
    }

    /// Removes a task that the store does not have. A later task can have the same id.
    pub(crate) fn forget(&self, scope: &Scope, id: &TaskId) {
        let mut tasks = self.tasks.lock();
        if !tasks.known.is_empty() {
            tasks.known.remove(&(scope.clone(), id.clone()));
        }
    }

    /// Removes the tasks without more attempts, except the tasks for which `keeps` is true.
    pub(crate) fn retain_too_large(&self, keeps: impl Fn(&Scope, &TaskId) -> bool) {
        let is_too_large = |known: &Known| matches!(known.stage, Stage::TooLarge);
        self.tasks.lock().known.retain(|(scope, id), known| !is_too_large(known) || keeps(scope, id));
    }

    /// The number of tasks to settle.
    pub(crate) fn len(&self) -> usize {
        self.tasks.lock().known.values().filter(|known| known.is_unsettled()).count()
    }

    /// Takes the due tasks. `Err` with the time of the next attempt if no task is due; `None` if the queue is empty.
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
    /// Adds a task that may be at work in the store without a runner, and settles the task as soon as the store can write.
    /// The queue holds at most `running_turns` tasks; the search for zombies finds the others.
    pub(crate) fn settle_later(self: &Arc<Self>, scope: &Scope, id: &TaskId) {
        self.settle_later_because(scope, id, GIVEN_UP);
    }

    /// As [`settle_later`](Self::settle_later), with the reason of failure.
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
                return tracing::warn!(task = %id, "recovery: the queue is full; the task is settled later");
            }
        }
        if !std::mem::replace(&mut tasks.tended, true) {
            Self::spawn(tend(Arc::downgrade(self)));
        }
        drop(tasks);
        self.recovery_queue.more.notify_one();
    }
}

/// Settles tasks until the queue is empty.
async fn tend(shared: Weak<Shared>) {
    let Some((more, left)) =
        shared.upgrade().map(|it| (Arc::clone(&it.recovery_queue.more), it.members.left().clone()))
    else {
        return;
    };
    loop {
        let next = {
            // The reference is not kept during the delay, so that the engine can be dropped.
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
            Err(error) => tracing::warn!(task = %task.id, %error, "recovery: cannot settle a task; retrying"),
        }
        shared.recovery_queue.tried(task, &outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, agent_fn};

    #[tokio::test(start_paused = true)]
    async fn tasks_to_settle_do_not_keep_a_dropped_engine() {
        let engine = Engine::builder(agent_fn(|_| async { Ok(()) })).build();
        let shared = Arc::downgrade(engine.shared());
        engine.shared().settle_later(&Scope::open(), &TaskId::from("abandoned"));
        // Shorter than the delay before the first attempt.
        tokio::time::sleep(RETRY.first / 2).await;
        drop(engine);
        assert!(shared.upgrade().is_none());
    }
}
