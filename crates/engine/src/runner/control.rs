//! What comes from outside, and what comes of waiting.

use nuncio_model::{Message, TaskState, Timestamp};
use tokio::time::sleep;

use super::{Runner, Running, ended, patience::unanswered};
use crate::{
    cluster::{self, Body},
    conversation::too_many,
    housekeeping::in_words,
    inbox::{Control, Incoming},
    store::Letter,
};

impl Runner {
    /// Takes something from outside, between two words of a turn or between two turns.
    pub(super) fn take(&mut self, control: Control, turn: Option<&mut Running>) {
        match (control, turn) {
            (Control::Message(incoming), _) if self.writer.state().is_terminal() => {
                incoming.refuse(ended(&self.hold.id, self.writer.state()));
            }
            (Control::Message(mut incoming), turn) => {
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
            (Control::Settle(reason, _), None) if self.queue.is_empty() && self.staged.is_empty() => {
                self.unsettled = Some(reason);
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
