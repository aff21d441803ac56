//! The running turns of this node: their number and their limits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nuncio_limit::{Callers, Refusals, not_now};
use nuncio_model::{Error, ErrorKind, Principal, TaskId};
use tokio::sync::Notify;

use crate::limits::Limits;

/// Counts turns and reports the stop of the engine.
///
/// A new turn writes the count and then reads the flag; a stop writes the flag and then reads the count. Both use one
/// total order, so at least one of them sees the other.
pub(crate) struct Turns {
    running: AtomicUsize,
    idle: Notify,
    draining: AtomicBool,
    stopping: AtomicBool,
    callers: Callers,
    refusals: Refusals,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            running: AtomicUsize::default(),
            idle: Notify::default(),
            draining: AtomicBool::default(),
            stopping: AtomicBool::default(),
            callers: Callers::default(),
            refusals: Refusals::new("running_turns", "running_turns_per_caller"),
        }
    }
}

impl Turns {
    /// The number of running turns.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Counts a new turn of this caller, or fails at a limit. Without limits, fails only if the engine stops: the end
    /// of a task is not refused at a limit.
    pub(crate) fn begin(&self, principal: &Principal, limits: Option<&Limits>) -> Result<(), Error> {
        const WHAT: &str = "turns are running";
        let others = self.running.fetch_add(1, Ordering::SeqCst);
        let per_caller = limits.map_or(usize::MAX, |limits| limits.running_turns_per_caller);
        let is_counted = self.callers.add(principal, 1, per_caller, false);
        let refusal = if let Err(stopping) = self.may_begin() {
            stopping
        } else if !is_counted {
            self.refusals.caller(principal, WHAT)
        } else if limits.is_some_and(|limits| others >= limits.running_turns) {
            self.refusals.all(principal, WHAT, ErrorKind::ResourceExhausted)
        } else {
            return Ok(());
        };
        self.leave(principal, is_counted);
        Err(refusal)
    }

    pub(crate) fn end(&self, principal: &Principal) {
        self.leave(principal, true);
    }

    fn leave(&self, principal: &Principal, is_counted: bool) {
        if is_counted {
            self.callers.remove(principal, 1);
        }
        if self.running.fetch_sub(1, Ordering::SeqCst) == 1 && self.are_draining() {
            self.idle.notify_waiters();
        }
    }

    /// Refuses new turns from now on.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Fails if new turns are refused.
    pub(crate) fn may_begin(&self) -> Result<(), Error> {
        if self.are_draining() { Err(stopping()) } else { Ok(()) }
    }

    pub(crate) fn are_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Marks that running turns are being cut off.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub(crate) fn are_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Waits until no turn runs. Call [`Self::drain`] first.
    pub(crate) async fn rest(&self) {
        loop {
            let idle = self.idle.notified();
            if self.running() == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// The error for calls while the engine stops.
pub(crate) fn stopping() -> Error {
    not_now("the server is stopping; try again later")
}

/// The error for callers that wait for a stored task while the engine stops. The client must not send the message
/// again, because the turn would run twice.
pub(crate) fn stopping_at(id: &TaskId) -> Error {
    let advice = "read it after the restart instead of sending again";
    not_now(&format!("the server is stopping; task {id} is stored: {advice}")).with_metadata("taskId", id.as_str())
}
