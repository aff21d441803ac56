//! What comes from outside, and what comes of waiting.

use nuncio_model::{Error, ErrorKind, Message, MessageId, TaskState, Timestamp};
use tokio::time::sleep;

use super::{Runner, Running, ended, patience::unanswered};
use crate::{
    cluster::{self, Body},
    conversation::too_many,
    housekeeping::in_words,
    inbox::{Control, Incoming},
    store::{Letter, StoreError},
};

impl Runner {
    /// Refuses messages that are known already, of this task or of another; the rest is left to be taken. Nothing is
    /// staged when this is called, so the store knows all that was taken.
    pub(super) async fn refuse_repeated(&self, controls: &mut Vec<Control>) {
        if controls.iter().any(|control| matches!(control, Control::Message(_) | Control::Letter(_)))
            && let Some(since) = self.shared.idempotency.since()
        {
            Box::pin(self.refuse_repeated_since(since, controls)).await;
        }
    }

    async fn refuse_repeated_since(&self, since: Timestamp, controls: &mut Vec<Control>) {
        let mut taken = Vec::new();
        for control in std::mem::take(controls) {
            let Some(id) = message_id(&control).filter(|id| !id.is_empty()) else {
                controls.push(control);
                continue;
            };
            if taken.contains(&id) {
                // It is looked at again once the one before it is in the store.
                self.hold.tell_runner(control);
                continue;
            }
            match self.shared.store.task_of_message(&self.hold.scope, &id, since).await {
                Ok(Some(task)) => self.refuse(control, StoreError::Repeated(task).into()),
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
            // Unless it was opened already.
            Control::Letter(letter) if self.shared.members.take(&letter.id) => {
                drop(cluster::answer(&self.shared, &self.hold, letter.id, Some).send(error));
            }
            control => control.refuse(error),
        }
    }

    /// Takes something from outside, between two words of a turn or between two turns.
    pub(super) fn take(&mut self, control: Control, turn: Option<&mut Running>) {
        match (control, turn) {
            (Control::Message(incoming), _) if self.writer.state().is_terminal() => {
                incoming.refuse(ended(&self.hold.id, self.writer.state()));
            }
            (Control::Message(mut incoming), turn) => {
                if let Err(excess) = self.writer.check_message(&incoming.request.message) {
                    let error = Error::new(
                        ErrorKind::PayloadTooLarge,
                        format!("{excess}; send a message without a task id to begin another in its context"),
                    );
                    return incoming.refuse(error.with_metadata("limit", excess.limit));
                }
                // Of a task that was founded, nothing is there but that.
                incoming.is_first = self.writer.staged() == 1 && self.hold.lock().task.history.is_empty();
                let is_busy = turn.is_some() || self.unsettled.is_some();
                incoming.waits = is_busy || !self.queue.is_empty() || !self.staged.is_empty();
                let letter = incoming.letter.as_ref();
                self.writer.stage_received(incoming.request.message.clone(), incoming.waits, letter);
                self.staged.push(incoming);
            }
            (Control::Cancel(_), Some(turn)) if turn.agent.is_some() => {
                if !turn.cancelled.is_cancelled() {
                    turn.cancelled.cancel();
                    turn.timer = Some(Box::pin(sleep(self.shared.limits.cancel_grace)));
                }
            }
            (Control::Cancel(_), _) => self.end(TaskState::Canceled, None),
            (Control::Settle(reason, told), None) => {
                // Else it is settled already: the claim said that it has to be.
                if self.queue.is_empty() && self.staged.is_empty() {
                    self.unsettled = Some(reason);
                }
                self.settling.push(told);
            }
            (Control::Expire(before, _), None) if self.queue.is_empty() && self.staged.is_empty() => {
                self.forget(before);
            }
            (Control::Fail(reason), turn) => {
                if let Some(turn) = turn {
                    turn.cut_off();
                }
                self.end(TaskState::Failed, Some(Message::agent(reason)));
            }
            (Control::Letter(letter), turn) => self.open(letter, turn),
            // Somebody is at work on it; the claim has brought the letters.
            (Control::Settle(..) | Control::Expire(..) | Control::Letters, _) => {}
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

    /// Does what a letter says, unless that was done already.
    fn open(&mut self, letter: Letter, turn: Option<&mut Running>) {
        if !self.shared.members.take(&letter.id) {
            return;
        }
        match Body::decode(&letter.body) {
            Ok(Body::Message { request, extensions }) => {
                let accepted = cluster::answer(&self.shared, &self.hold, letter.id.clone(), Result::err);
                if self.queue.len() + self.staged.len() >= self.shared.limits.queued_messages {
                    drop(accepted.send(Err(too_many(&self.hold.id))));
                    return;
                }
                let mut incoming = Incoming::new(*request, extensions.into());
                incoming.accepted = Some(accepted);
                incoming.letter = Some(letter.id);
                self.take(Control::Message(incoming), turn);
            }
            Ok(Body::Cancel) => {
                let refused = cluster::answer(&self.shared, &self.hold, letter.id, Some);
                self.take(Control::Cancel(refused), turn);
            }
            Err(error) => drop(cluster::answer(&self.shared, &self.hold, letter.id, Some).send(error)),
        }
    }

    /// Fails a task that has waited for its client since before this moment.
    fn forget(&mut self, before: Timestamp) {
        let since = self.hold.lock().task.status.timestamp.unwrap_or_default();
        if self.writer.state().is_interrupted() && since < before {
            let time = self.shared.keeper.settings.interrupted_expiry.map(in_words).unwrap_or_default();
            self.end(TaskState::Failed, Some(Message::agent(unanswered(&time))));
        }
    }

    /// A wait is over: for the first word, or for the end of a turn that was told to stop or has said its last word.
    pub(super) fn expire(&mut self, running: &mut Running) {
        running.timer = None;
        if self.birth.is_some() && !running.cancelled.is_cancelled() {
            self.bring_to_life();
        } else {
            running.cut_off();
            self.end(TaskState::Canceled, None);
        }
    }
}

/// The id of the message that a control brings.
fn message_id(control: &Control) -> Option<MessageId> {
    match control {
        Control::Message(incoming) => Some(incoming.request.message.message_id.clone()),
        Control::Letter(letter) => match Body::decode(&letter.body) {
            Ok(Body::Message { request, .. }) => Some(request.message.message_id),
            _ => None,
        },
        _ => None,
    }
}
