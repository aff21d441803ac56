//! An entry of a task's log.

use std::sync::Arc;

use nuncio_model::{Message, StreamEvent, StreamResponse};

use crate::size;

/// One change of a task, numbered 1, 2, 3 … within it. The log of these is the truth; a task is what they fold to.
#[derive(Debug, Clone)]
pub enum Record {
    /// A change that readers see. The first record of every log is one: the task as it was submitted.
    Update(Arc<StreamEvent>),
    /// A message of the client that came to the task.
    Received(Arc<Received>),
    /// The turn of the message begins that has waited longest; in the log at this place.
    Begun(u64),
}

/// A client's message in a log.
#[derive(Debug, PartialEq)]
pub struct Received {
    /// The place in the log.
    pub sequence: u64,
    /// The message.
    pub message: Message,
    /// Whether it waits behind another message's turn; its own begins with a record. That of any other begins with this.
    pub waits: bool,
}

impl Record {
    /// A change that readers see.
    pub fn update(sequence: u64, response: StreamResponse) -> Self {
        Self::Update(Arc::new(StreamEvent::new(Some(sequence), response)))
    }

    /// A message that came to the task, and has its turn at once.
    pub fn received(sequence: u64, message: Message) -> Self {
        Self::Received(Arc::new(Received { sequence, message, waits: false }))
    }

    /// A message that came to the task, and waits for its turn.
    pub fn waiting(sequence: u64, message: Message) -> Self {
        Self::Received(Arc::new(Received { sequence, message, waits: true }))
    }

    /// The place in the log.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Update(event) => event.sequence.unwrap_or_default(),
            Self::Received(received) => received.sequence,
            Self::Begun(sequence) => *sequence,
        }
    }

    /// How many bytes it carries: text, files, data and metadata, as
    /// [`Limits::task_size`](crate::Limits::task_size) counts them.
    pub fn size(&self) -> usize {
        match self {
            Self::Update(event) => size::of_event(&event.response),
            Self::Received(received) => size::of_message(&received.message),
            Self::Begun(_) => 0,
        }
    }

    /// What readers see of it.
    pub fn as_update(&self) -> Option<&Arc<StreamEvent>> {
        match self {
            Self::Update(event) => Some(event),
            Self::Received(_) | Self::Begun(_) => None,
        }
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Update(one), Self::Update(two)) => one.sequence == two.sequence && one.response == two.response,
            (Self::Received(one), Self::Received(two)) => one == two,
            (Self::Begun(one), Self::Begun(two)) => one == two,
            _ => false,
        }
    }
}
