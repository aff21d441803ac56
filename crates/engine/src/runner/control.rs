//! What comes from outside, and what comes of waiting.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, Message, Role, TaskState, Timestamp, op::SendMessageRequest};
use tokio::time::sleep;

use super::{Runner, Running, ended};
use crate::{
    inbox::{Control, Incoming},
    store::StoreError,
};

impl Runner {
    /// Refuses messages that are known already, of this task or of another; the rest is left to be taken. Nothing is
    /// staged when this is called, so the store knows all that was taken.
    pub(super) async fn refuse_repeated(&self, controls: &mut Vec<Control>) {
        if controls.iter().any(|control| matches!(control, Control::Message(_)))
            && let Some(since) = self.shared.idempotency.since()
        {
            Box::pin(self.refuse_repeated_since(since, controls)).await;
        }
    }

    async fn refuse_repeated_since(&self, since: Timestamp, controls: &mut Vec<Control>) {
        let mut taken = Vec::new();
        for control in std::mem::take(controls) {
            let Control::Message(incoming) = control else {
                controls.push(control);
                continue;
            };
            let id = incoming.request.message.message_id.clone();
            if taken.contains(&id) {
                // It is looked at again once the one before it is in the store.
                self.hold.tell_runner(Control::Message(incoming));
                continue;
            }
            match self.shared.store.task_of_message(&self.hold.scope, &id, since).await {
                Ok(Some(task)) => incoming.refuse(StoreError::Repeated(task).into()),
                Ok(None) => {
                    taken.extend((!id.is_empty()).then_some(id));
                    controls.push(Control::Message(incoming));
                }
                Err(error) => incoming.refuse(error.into()),
            }
        }
    }

    /// Takes something from outside, between two words of a turn or between two turns.
    pub(super) fn take(&mut self, control: Control, turn: Option<&mut Running>) {
        match (control, turn) {
            (Control::Message(incoming), _) if self.writer.state().is_terminal() => {
                incoming.refuse(ended(&self.hold.id, self.writer.state()));
            }
            (Control::Message(mut incoming), _) => {
                if let Err(excess) = self.writer.check_message(&incoming.request.message) {
                    let error = Error::new(
                        ErrorKind::PayloadTooLarge,
                        format!("{excess}; send a message without a task id to begin another in its context"),
                    );
                    return incoming.refuse(error.with_metadata("limit", excess.limit));
                }
                // Of a task that was founded, nothing is there but that.
                incoming.is_first = self.writer.staged() == 1 && self.hold.lock().task.history.is_empty();
                self.writer.stage_received(incoming.request.message.clone());
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
                self.settle(reason);
            }
            // Somebody is at work on it.
            (Control::Settle(..), _) => {}
            (Control::Fail(reason), turn) => {
                if let Some(turn) = turn {
                    turn.cut_off();
                }
                self.end(TaskState::Failed, Some(Message::agent(reason)));
            }
            (Control::Leave, turn) => {
                if let Some(turn) = turn {
                    turn.cut_off();
                }
                self.left = true;
            }
        }
    }

    /// Does what is to be done with a task that has no runner, and may need one.
    fn settle(&mut self, reason: &'static str) {
        let state = self.writer.state();
        if state.is_terminal() || state.is_interrupted() {
            return;
        }
        let last = {
            let inner = self.hold.lock();
            inner.task.history.iter().rev().find(|message| message.role == Role::User).cloned()
        };
        match last {
            Some(message) if self.shared.agent.resumes() => {
                self.queue.push_back(Incoming::new(SendMessageRequest::new(message), Arc::default()));
            }
            Some(_) => self.end(TaskState::Failed, Some(Message::agent(reason))),
            None => {
                self.end(TaskState::Failed, Some(Message::agent("the message that begins the task did not reach it")));
            }
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
