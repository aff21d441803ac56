//! Handles the controls of a runner, and the end of its timers.

use nuncio_limit::Permit;
use nuncio_model::{Error, Message, MessageId, TaskState, Timestamp, weight};
use tokio::time::sleep;

use super::{Runner, Running, ended, idle_timeout::unanswered};
use crate::{
    cluster::{self, Body, CommandGuard},
    conversation::place,
    housekeeping::in_words,
    inbox::{Cancel, Control, Incoming},
    store::{Command, StoreError},
};

impl Runner {
    /// Refuses messages that a task already has. Other controls are left in `controls`. Nothing is staged at this
    /// point, so the store knows all accepted messages.
    pub(super) async fn refuse_duplicates(&self, controls: &mut Vec<Control>) {
        if controls.iter().any(|control| matches!(control, Control::Message(_) | Control::Command(..)))
            && let Some(since) = self.shared.idempotency.since()
        {
            Box::pin(self.refuse_duplicates_since(since, controls)).await;
        }
    }

    async fn refuse_duplicates_since(&self, since: Timestamp, controls: &mut Vec<Control>) {
        let mut taken = Vec::new();
        for control in std::mem::take(controls) {
            let Some(id) = message_id(&control).filter(|id| !id.is_empty()) else {
                controls.push(control);
                continue;
            };
            if taken.contains(&id) {
                // The duplicate is checked again after the first message is in the store.
                self.task_ref.tell_runner(control);
                continue;
            }
            match self.shared.store.task_of_message(&self.task_ref.scope, &id, since).await {
                Ok(Some(task)) => self.refuse(control, StoreError::Duplicate(task).into()),
                Ok(None) => {
                    taken.push(id);
                    controls.push(control);
                }
                Err(error) => self.refuse(control, error.into()),
            }
        }
    }

    fn refuse(&self, control: Control, error: Error) {
        match control {
            Control::Command(_, guard) => {
                drop(cluster::answer(&self.shared, &self.task_ref, guard, Some).send(error));
            }
            control => control.refuse(error),
        }
    }

    /// Handles a control, between two events of a turn or between two turns.
    pub(super) fn take(&mut self, control: Control, turn: Option<&mut Running>) {
        match (control, turn) {
            (Control::Message(incoming), _) if self.writer.state().is_terminal() => {
                incoming.refuse(ended(&self.task_ref.id, self.writer.state()));
            }
            (Control::Message(mut incoming), turn) => {
                if let Err(excess) = self.writer.check(weight::of_message(&incoming.request.message)) {
                    return incoming.refuse(excess.refusal());
                }
                // A precreated task has one record and no message.
                incoming.is_first = self.writer.staged() == 1 && self.task_ref.lock().task.history.is_empty();
                let is_busy = turn.is_some() || self.unsettled.is_some();
                incoming.waits = is_busy || !self.queue.is_empty() || !self.staged.is_empty();
                let command = incoming.command.as_ref();
                let sent = self.sent(&incoming.request, &incoming.extensions, incoming.waits);
                self.writer.stage_received(incoming.request.message.clone(), sent, incoming.waits, command);
                self.staged.push_back(incoming);
            }
            (Control::Cancel(cancel), turn) => {
                self.cancel(turn);
                // Cancels of clients that have left still count, but one cancel is enough.
                self.cancels.retain(|it| !it.refused.is_closed());
                self.cancels.push(cancel);
            }
            (Control::Settle(reason, told), None) => {
                // Otherwise the task is settled already, because the claim reported it.
                if self.queue.is_empty() && self.staged.is_empty() {
                    self.unsettled = Some(reason);
                }
                self.settling.push(told);
            }
            (Control::Expire(before, told), None) if self.queue.is_empty() && self.staged.is_empty() => {
                self.forget(before);
                self.settling.push(told);
            }
            (Control::Fail(reason), turn) => {
                if let Some(turn) = turn {
                    turn.cut_off();
                }
                self.end(TaskState::Failed, Some(Message::agent(reason)));
            }
            (Control::Command(command, guard), turn) => self.open(&command, guard, turn),
            // A turn is running, or the claim has already returned the commands.
            (Control::Settle(..) | Control::Expire(..) | Control::PendingCommands, _) => {}
            (Control::Lost, turn) => {
                if let Some(turn) = turn {
                    turn.cut_off();
                }
                self.lost = true;
                self.left = true;
            }
            (Control::Leave, turn) => {
                if let Some(turn) = turn {
                    turn.cut_off();
                }
                self.left = true;
            }
        }
    }

    /// Asks the agent to stop, or ends the task if no turn runs.
    fn cancel(&mut self, turn: Option<&mut Running>) {
        match turn {
            Some(turn) if turn.agent.is_some() => {
                if !turn.cancelled.is_cancelled() {
                    turn.cancelled.cancel();
                    turn.timer = Some(Box::pin(sleep(self.shared.limits.cancel_grace)));
                }
            }
            _ => self.end(TaskState::Canceled, None),
        }
    }

    /// Executes a command.
    fn open(&mut self, command: &Command, guard: CommandGuard, turn: Option<&mut Running>) {
        match Body::decode(&command.body) {
            Ok(Body::Message { request, extensions }) => {
                let accepted = cluster::answer(&self.shared, &self.task_ref, guard, Result::err);
                let reserved = self.shared.reserve(&self.task_ref.scope.principal, &request);
                let (place, reserved) = match (self.place(turn.is_some()), reserved) {
                    (Ok(place), Ok(reserved)) => (place, reserved),
                    (Err(error), _) | (_, Err(error)) => return drop(accepted.send(Err(error))),
                };
                let mut incoming = Incoming::new(*request, extensions.into());
                incoming.accepted = Some(accepted);
                incoming.place = place;
                incoming.reserved = reserved;
                incoming.command = Some(command.id.clone());
                self.take(Control::Message(incoming), turn);
            }
            Ok(Body::Cancel) => {
                let refused = cluster::answer(&self.shared, &self.task_ref, guard, Some);
                self.take(Control::Cancel(Cancel { refused, by_command: true }), turn);
            }
            Err(error) => drop(cluster::answer(&self.shared, &self.task_ref, guard, Some).send(error)),
        }
    }

    /// Reserves a place for a message that a command brought. The place counts like the place of a local message.
    /// `None` if the message does not wait.
    fn place(&self, is_busy: bool) -> Result<Option<Permit>, Error> {
        let waiting = self.waiting();
        let waits = is_busy || waiting > 0 || self.unsettled.is_some();
        waits.then(|| place(&self.shared, &self.task_ref, waiting)).transpose()
    }

    fn waiting(&self) -> usize {
        self.queue.len() + self.staged.len()
    }

    /// Publishes the number of waiting messages, after the new messages are accepted or refused.
    pub(super) fn count_waiting(&self) {
        self.task_ref.lock().queued = self.waiting();
    }

    /// Fails a task that has waited for its client since before this time.
    fn forget(&mut self, before: Timestamp) {
        let since = self.task_ref.lock().task.status.timestamp.unwrap_or_default();
        if self.writer.state().is_interrupted() && since < before {
            let time = self.shared.housekeeping.settings.interrupted_expiry.map(in_words).unwrap_or_default();
            self.end(TaskState::Failed, Some(Message::agent(unanswered(&time))));
        }
    }

    /// A timer expired: the timeout of the first event, or the grace period of a turn that was canceled or has emitted
    /// its last event.
    pub(super) fn expire(&mut self, running: &mut Running) {
        running.timer = None;
        if self.deferred.is_some() && !running.cancelled.is_cancelled() {
            self.create_task();
        } else {
            running.cut_off();
            self.end(TaskState::Canceled, None);
        }
    }
}

/// The id of the message in a control.
fn message_id(control: &Control) -> Option<MessageId> {
    match control {
        Control::Message(incoming) => Some(incoming.request.message.message_id.clone()),
        Control::Command(command, _) => match Body::decode(&command.body) {
            Ok(Body::Message { request, .. }) => Some(request.message.message_id),
            _ => None,
        },
        _ => None,
    }
}
