//! The inbox of the runner of a task.

use std::task::{Context, Waker};

use nuncio_model::MessageId;

use super::{LiveState, LiveTask, set_waker};
use crate::inbox::{Control, TurnProgress};

impl LiveTask {
    /// Takes the controls for the runner, or stores its waker. Returns whether controls can arrive: whether the task is
    /// in the registry.
    pub(crate) fn take_controls(&self, cx: &Context<'_>, into: &mut Vec<Control>) -> bool {
        let mut state = self.lock();
        if state.inbox.is_empty() {
            set_waker(&mut state.runner, cx);
        } else {
            state.empty_inbox(into);
        }
        state.registered
    }

    /// Whether the runner was told that other nodes can run the task. Stores the waker.
    pub(crate) fn is_being_lost(&self, cx: &Context<'_>) -> bool {
        let mut state = self.lock();
        set_waker(&mut state.runner, cx);
        state.inbox.iter().any(Control::is_loss)
    }

    /// Adds a control to the inbox of the runner, if there is one.
    pub(crate) fn tell_runner(&self, control: Control) {
        self.has_told_runner(control);
    }

    /// Adds a control to the inbox of the runner, if there is one. Returns whether there is a runner.
    pub(crate) fn has_told_runner(&self, control: Control) -> bool {
        let mut state = self.lock();
        let is_running = state.running;
        let waker = if is_running { state.tell_runner(control) } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        is_running
    }
}

impl LiveState {
    /// The number of messages that wait for their turn.
    pub(crate) fn waiting(&self) -> usize {
        self.queued + self.messages_in_inbox()
    }

    fn messages_in_inbox(&self) -> usize {
        self.inbox.iter().filter(|control| matches!(control, Control::Message(_))).count()
    }

    /// The progress of the turn of this message, if the turn is not over.
    pub(crate) fn progress_of(&self, message: &MessageId) -> Option<TurnProgress> {
        self.turns_in_progress.iter().find(|(id, _)| id == message).map(|(_, progress)| progress.clone())
    }

    /// Adds a control to the inbox. The caller must wake the returned waker after it releases the lock.
    #[must_use]
    pub(crate) fn tell_runner(&mut self, control: Control) -> Option<Waker> {
        if let Control::Cancel(_) = control {
            // Cancels of clients that have left still count, but one cancel is enough.
            self.inbox.retain(|it| !matches!(it, Control::Cancel(cancel) if cancel.refused.is_closed()));
        }
        self.inbox.push_back(control);
        self.runner.take()
    }

    /// Whether the inbox has controls.
    pub(crate) fn has_pending(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Takes all controls of the inbox.
    pub(crate) fn empty_inbox(&mut self, into: &mut Vec<Control>) {
        self.queued += self.messages_in_inbox();
        into.extend(self.inbox.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use nuncio_model::Scope;

    use super::*;
    use crate::inbox::Cancel;

    #[test]
    fn cancels_of_clients_that_left_do_not_accumulate() {
        let live = LiveTask::made_here(Scope::open(), "task".into());
        live.lock().running = true;
        let cancel = || {
            let (refused, told) = oneshot::channel();
            live.tell_runner(Control::Cancel(Cancel { refused, by_command: false }));
            told
        };
        let waits = cancel();
        for _ in 0..100 {
            drop(cancel());
        }
        let mut taken = Vec::new();
        live.lock().empty_inbox(&mut taken);
        assert_eq!(taken.len(), 2, "the one that is waited for, and one of the others");
        drop(waits);
    }
}
