//! The end of turns, tasks and runners.

use nuncio_limit::LineLimit;
use nuncio_limit::not_now;
use nuncio_model::{Error, ErrorKind, Message, TaskId, TaskState};

use super::{Runner, Running};
use crate::{agent::AgentError, cluster, inbox::Control};

/// The largest number of characters of a reason in a log line.
const REASON: usize = 200;

fn reason(text: &str) -> String {
    match text.char_indices().nth(REASON) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}

impl Runner {
    /// Ends the turn. Sets the final status if the agent did not set one.
    pub(super) fn conclude(&mut self, running: &Running, outcome: Result<(), AgentError>) {
        if running.replied {
            return;
        }
        if let Err(error) = outcome {
            tracing::warn!(task = %self.task_ref.id, cause = error.cause().map(tracing::field::display), "{error}");
            self.fail(running, error.message());
        } else if running.cancelled.is_cancelled() {
            self.end(TaskState::Canceled, None);
        } else if !self.writer.state().is_interrupted() && self.queue.is_empty() && self.staged.is_empty() {
            self.end(TaskState::Completed, None);
        }
    }

    /// Fails the task after an error of the agent. If the task was canceled, the error is ignored, and the task is
    /// canceled.
    pub(super) fn fail(&mut self, running: &Running, reason: &str) {
        if running.cancelled.is_cancelled() {
            self.end(TaskState::Canceled, None);
        } else {
            self.end(TaskState::Failed, Some(Message::agent(reason)));
        }
    }

    /// Ends the task, if the task exists or is deferred, and has not ended.
    pub(super) fn end(&mut self, state: TaskState, message: Option<Message>) {
        let is_there = self.deferred.is_some() || self.writer.exists();
        if is_there && !self.writer.state().is_terminal() {
            self.set_status(state, message);
        }
    }

    /// Releases the task. Returns the controls that were not handled.
    fn release(&mut self) -> Vec<Control> {
        self.over = true;
        let mut undone = Vec::new();
        {
            let mut state = self.task_ref.lock();
            state.empty_inbox(&mut undone);
            state.running = false;
            state.queued = 0;
            state.turns_in_progress.clear();
            state.epoch = None;
        }
        undone.extend(self.staged.drain(..).map(Control::Message));
        undone
    }

    /// Releases the task, and sends the error to the senders of unhandled controls.
    pub(super) fn let_go(&mut self, error: &Error) {
        for control in self.release() {
            control.refuse(error.clone());
        }
    }

    /// Releases the task to the node that owns it, and forwards the unhandled controls.
    pub(super) fn forward(&mut self) {
        for control in self.release() {
            cluster::forward(&self.shared, self.task_ref.clone(), control);
        }
    }

    /// Another node owns the task, or will own it. The task runs there, and readers follow its log from here.
    pub(super) fn lose(&mut self) {
        tracing::warn!(task = %self.task_ref.id, "runner: the task moved to another node");
        for incoming in &self.queue {
            // The turn runs on the other node, which does not know the waiting callers.
            incoming.progress.begin(self.writer.staged());
        }
        self.forward();
        if !self.task_ref.lock().task_state().is_terminal() {
            // The canceled turn may run again on the other node.
            for cancel in self.cancels.drain(..) {
                cluster::forward(&self.shared, self.task_ref.clone(), Control::Cancel(cancel));
            }
        }
        self.stay();
        // No node may own the task, or this node may own it under its new node id.
        self.shared.settle_later(&self.task_ref.scope, &self.task_ref.id);
    }

    /// Disappears without notice: a deliberate bug for tests.
    pub(super) fn vanish(&mut self) {
        drop(self.release());
    }

    /// Stops without remaining work. If the task is still at work, for example because its first message was refused,
    /// the task is settled.
    pub(super) fn finish(&mut self) {
        self.stay();
        self.log_end();
        if self.writer.is_at_work() {
            self.shared.settle_later(&self.task_ref.scope, &self.task_ref.id);
        }
    }

    /// Logs the end of a task: caller, state, duration, and the reason of a failure.
    fn log_end(&self) {
        static LINES: LineLimit = LineLimit::new();
        let Some(began) = self.began.filter(|_| self.writer.exists() && self.writer.state().is_terminal()) else {
            return;
        };
        let (is_free, omitted) = LINES.take();
        if omitted > 0 {
            tracing::info!(omitted, "log lines of ended tasks were omitted");
        }
        if !is_free {
            return;
        }
        let task = std::sync::Arc::clone(&self.task_ref.lock().task);
        let failed = task.state() == TaskState::Failed;
        let reason = task.status.message.as_ref().filter(|_| failed).map(|message| reason(&message.text()));
        let (id, state, caller) = (&self.task_ref.id, task.state().short(), &self.task_ref.scope.principal);
        tracing::info!(task = %id, state, %caller, duration = ?began.elapsed(), reason, "task ended");
    }

    /// Follows a task that may run on another node from now on.
    pub(super) fn stay(&self) {
        if self.shared.store.cluster().is_some() {
            cluster::stay(&self.shared, &self.task_ref);
        }
    }

    /// Gives up a task that is not at rest. Readers get the error. The task is settled later if the store has the task
    /// at work, or may have it. If the node stops, the next start settles the task.
    pub(super) fn give_up(&mut self, error: &Error) {
        // A deleted task stays deleted, whatever error came later.
        let broken = self.task_ref.lock().broken.clone();
        let gone = broken.as_ref().filter(|error| error.kind() == ErrorKind::TaskNotFound);
        let at_task = self.at_task(error);
        let error = gone.unwrap_or(&at_task);
        self.let_go(error);
        if !self.writer.is_committed() {
            // Readers must read the state of the task from the store.
            self.shared.registry.remove(self.task_ref.live());
        }
        if self.writer.is_at_work() && !self.left {
            self.shared.settle_later(&self.task_ref.scope, &self.task_ref.id);
        }
        if self.left && !self.lost {
            self.task_ref.stop();
        }
        self.task_ref.break_off(error.clone());
    }

    /// The error for a message that the store has, or may have, while the store fails. The client must not send the
    /// message again, because the turn would run twice.
    fn at_task(&self, error: &Error) -> Error {
        let may_be_stored = self.writer.is_committed() || self.writer.is_in_doubt();
        if error.kind() != ErrorKind::Unavailable || !may_be_stored {
            return error.clone();
        }
        let id = &self.task_ref.id;
        let advice = format!("task {id} may have your message: read it instead of sending again");
        not_now(&format!("the task store is unavailable; {advice}"))
            .with_metadata("taskId", id.as_str())
            .with_source(error.clone())
    }
}

impl Drop for Runner {
    /// The runner is dropped before its end only if the store panics or the runtime stops.
    fn drop(&mut self) {
        if !self.over {
            let error = Error::new(ErrorKind::Internal, "the task was cut off");
            if self.writer.is_owner() { self.give_up(&error) } else { self.let_go(&error) }
        }
        self.shared.turns.end(&self.task_ref.scope.principal);
    }
}

/// The error for a message to a task that has ended (section 3.1.1 "Send Message").
pub(crate) fn ended(id: &TaskId, state: TaskState) -> Error {
    Error::new(
        ErrorKind::UnsupportedOperation,
        format!("task {id} is {}; send a message without a task id to begin another in its context", state.short()),
    )
    .with_metadata("taskId", id.as_str())
}
