//! How turns, tasks and runners end.

use nuncio_limit::LineLimit;
use nuncio_limit::not_now;
use nuncio_model::{Error, ErrorKind, Message, TaskId, TaskState};

use super::{Runner, Running};
use crate::{agent::AgentError, cluster, inbox::Control};

/// How many characters of a reason a line has.
const REASON: usize = 200;

fn reason(text: &str) -> String {
    match text.char_indices().nth(REASON) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}

impl Runner {
    /// The agent's turn is over: says the closing word if the agent did not.
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

    /// The agent's turn went wrong. One that was canceled is canceled, however it takes that.
    pub(super) fn fail(&mut self, running: &Running, reason: &str) {
        if running.cancelled.is_cancelled() {
            self.end(TaskState::Canceled, None);
        } else {
            self.end(TaskState::Failed, Some(Message::agent(reason)));
        }
    }

    /// Ends the task, if there is one, or will be, and it has not ended.
    pub(super) fn end(&mut self, state: TaskState, message: Option<Message>) {
        let is_there = self.deferred.is_some() || self.writer.exists();
        if is_there && !self.writer.state().is_terminal() {
            self.set_status(state, message);
        }
    }

    /// Lets go of the task. Gives what this runner was to do and has not done.
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

    /// Lets go of the task: whoever wanted something of this runner is told why nothing comes of it.
    pub(super) fn let_go(&mut self, error: &Error) {
        for control in self.release() {
            control.refuse(error.clone());
        }
    }

    /// Leaves the task to the node that has it, and what was to be done too.
    pub(super) fn forward(&mut self) {
        for control in self.release() {
            cluster::forward(&self.shared, self.task_ref.clone(), control);
        }
    }

    /// The task is another node's, or will be: it goes on there, and is read from there.
    pub(super) fn lose(&mut self) {
        tracing::warn!(task = %self.task_ref.id, "a task went to another node");
        for incoming in &self.queue {
            // Its turn is there, and nobody there knows who waits for it.
            incoming.progress.begin(self.writer.staged());
        }
        self.forward();
        if !self.task_ref.lock().task_state().is_terminal() {
            // The turn that was to stop may be run again there.
            for cancel in self.cancels.drain(..) {
                cluster::forward(&self.shared, self.task_ref.clone(), Control::Cancel(cancel));
            }
        }
        self.stay();
        // It may be nobody's, or this node's under the id that it has now.
        self.shared.settle_later(&self.task_ref.scope, &self.task_ref.id);
    }

    /// Disappears without a notice: a deliberate bug.
    pub(super) fn vanish(&mut self) {
        drop(self.release());
    }

    /// Nothing is left to do. Where the task is at work all the same, as one whose first message was refused, it is
    /// settled.
    pub(super) fn finish(&mut self) {
        self.stay();
        self.log_end();
        if self.writer.is_at_work() {
            self.shared.settle_later(&self.task_ref.scope, &self.task_ref.id);
        }
    }

    /// Writes a line about a task that has ended: whose it is, how it ended, after how long, and why if it failed.
    fn log_end(&self) {
        static LINES: LineLimit = LineLimit::new();
        let Some(began) = self.began.filter(|_| self.writer.exists() && self.writer.state().is_terminal()) else {
            return;
        };
        let (is_free, omitted) = LINES.take();
        if omitted > 0 {
            tracing::info!(omitted, "tasks without a line");
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

    /// Goes on reading a task that may be run elsewhere from now on.
    pub(super) fn stay(&self) {
        if self.shared.store.cluster().is_some() {
            cluster::stay(&self.shared, &self.task_ref);
        }
    }

    /// Lets go of a task that is not at rest: readers are told too, and it is settled later where the store has it, or
    /// may have it, as one that is at work. Where the node stops, whoever starts next does that.
    pub(super) fn give_up(&mut self, error: &Error) {
        // One that was deleted is not there any more, whatever came of that here.
        let broken = self.task_ref.lock().broken.clone();
        let gone = broken.as_ref().filter(|error| error.kind() == ErrorKind::TaskNotFound);
        let at_task = self.at_task(error);
        let error = gone.unwrap_or(&at_task);
        self.let_go(error);
        if !self.writer.is_committed() {
            // What the store has of it is to be read from there.
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

    /// What those are told whose message is stored, or may be, while the store fails: to send it again would be to have
    /// it done twice.
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
    /// The runner comes here before its end only where the store panics, or the runtime stops.
    fn drop(&mut self) {
        if !self.over {
            let error = Error::new(ErrorKind::Internal, "the task was cut off");
            if self.writer.is_owner() { self.give_up(&error) } else { self.let_go(&error) }
        }
        self.shared.turns.end(&self.task_ref.scope.principal);
    }
}

/// The error for a message to a task that has ended (SEND-5).
pub(crate) fn ended(id: &TaskId, state: TaskState) -> Error {
    Error::new(
        ErrorKind::UnsupportedOperation,
        format!("task {id} is {}; send a message without a task id to begin another in its context", state.short()),
    )
    .with_metadata("taskId", id.as_str())
}
