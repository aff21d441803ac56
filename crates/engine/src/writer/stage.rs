//! Checks changes, and stages them for the next commit.

use std::sync::Arc;

use nuncio_model::{Message, StreamEvent, StreamResponse, Task, Timestamp, weight};

use super::LogWriter;
use crate::{
    dedup,
    lifecycle::{self, IllegalTransition},
    limits::Limits,
    record::{Record, Sent},
    size::{self, TooMuch},
    store::{CommandId, Remember},
};

impl LogWriter {
    /// Checks the limits of the task and of all tasks at work, for an event or a message of this size.
    pub(crate) fn check(&mut self, bytes: usize) -> Result<(), TooMuch> {
        let Limits { task_size, task_events, .. } = self.shared.limits;
        let size = self.size.saturating_add(bytes as u64);
        if size > task_size {
            return Err(TooMuch::OfTask { limit: "task_size", reason: "bytes", most: task_size });
        }
        if self.staged() >= task_events {
            return Err(TooMuch::OfTask { limit: "task_events", reason: "events", most: task_events });
        }
        self.reserve(size).map_err(TooMuch::Memory)
    }

    /// Stages the task, which is the first record, with the data of its request.
    pub(crate) fn stage_task(&mut self, task: Task, sent: Option<Sent>) {
        self.state = task.state();
        self.updated = task.status.timestamp.unwrap_or_default();
        self.size += (weight::of_task(&task) + size::of_sent(sent.as_ref())) as u64;
        self.remember(&task.history);
        self.push(Record::update(1, StreamResponse::Task(task)).sent_with(sent));
        self.reserve_anyway();
    }

    /// Stages an event of this size. The event gets the next sequence number.
    pub(crate) fn stage(&mut self, mut event: Arc<StreamEvent>, bytes: usize) -> Result<(), IllegalTransition> {
        self.state = lifecycle::next_state(self.state, &event.response)?;
        if let StreamResponse::StatusUpdate(update) = &event.response {
            self.updated = update.status.timestamp.unwrap_or_else(Timestamp::now);
        }
        self.size += bytes as u64;
        let sequence = Some(self.staged() + 1);
        match Arc::get_mut(&mut event) {
            Some(event) => event.sequence = sequence,
            None => event = Arc::new(StreamEvent::new(sequence, event.response.clone())),
        }
        self.push(Record::Update(event));
        Ok(())
    }

    /// Stages a message of the client, with the command that brought the message. `waits` says that another turn comes
    /// first.
    pub(crate) fn stage_received(
        &mut self,
        message: Message,
        sent: Option<Sent>,
        waits: bool,
        command: Option<&CommandId>,
    ) {
        self.size += (weight::of_message(&message) + size::of_sent(sent.as_ref())) as u64;
        self.remember(std::slice::from_ref(&message));
        let sequence = self.staged() + 1;
        let record = if waits { Record::waiting } else { Record::received };
        self.push(record(sequence, message).sent_with(sent));
        self.acks.extend(command.map(|command| (command.clone(), sequence)));
    }

    /// Stages the begin of the turn of a message that has waited.
    pub(crate) fn stage_begun(&mut self) {
        self.push(Record::Begun(self.staged() + 1));
    }

    fn remember(&mut self, messages: &[Message]) {
        if self.shared.idempotency.is_on() {
            dedup::remember(&mut self.remember, messages);
        }
    }

    /// The ids of staged messages that the store must remember.
    pub(super) fn remembered(&mut self) -> Option<Box<Remember>> {
        let messages = std::mem::take(&mut self.remember);
        let since = self.shared.idempotency.since().filter(|_| !messages.is_empty())?;
        Some(Box::new(Remember { messages, since }))
    }

    fn push(&mut self, record: Record) {
        self.batch.push(record);
    }
}
