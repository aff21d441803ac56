//! An entry of a task's log.

use std::sync::Arc;

use nuncio_model::{
    Message, StreamEvent, StreamResponse, Struct,
    op::{SendMessageConfiguration, SendMessageRequest},
    weight,
};
use serde::{Deserialize, Serialize};

use crate::size;

/// One change of a task, numbered 1, 2, 3 … within it. The log of these is the truth; a task is what they fold to.
#[derive(Debug, Clone)]
pub enum Record {
    /// A change that readers see. The first record of every log is one: the task as it was submitted.
    Update(Arc<StreamEvent>),
    /// The same, of a first record whose message was sent with something beside it.
    Submitted(Arc<Submitted>),
    /// A message of the client that came to the task.
    Received(Arc<Received>),
    /// The turn of the message begins that has waited longest; in the log at this place.
    Begun(u64),
}

/// The task as it was submitted, and how its message was sent.
#[derive(Debug)]
pub struct Submitted {
    /// The change that readers see.
    pub event: Arc<StreamEvent>,
    /// How its message was sent.
    pub sent: Sent,
}

/// What a request says beside its message, for a turn that is run later than it came, or again: readers do not see it.
/// A webhook is no part of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// How the client wanted it handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Box<SendMessageConfiguration>>,
    /// The metadata of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<Struct>>,
    /// The extensions that were active.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Box<str>>,
}

impl Sent {
    /// What a request says beside its message, if anything.
    pub(crate) fn of(request: &SendMessageRequest, extensions: &[Box<str>]) -> Option<Self> {
        let configuration = request.configuration.as_ref().filter(|it| ***it != SendMessageConfiguration::default());
        if configuration.is_none() && request.metadata.is_none() && extensions.is_empty() {
            return None;
        }
        let (configuration, metadata) = (configuration.cloned(), request.metadata.clone());
        Some(Self { configuration, metadata, extensions: extensions.to_vec() })
    }
}

/// A client's message in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// The place in the log.
    pub sequence: u64,
    /// The message.
    pub message: Message,
    /// Whether it waits behind another message's turn; its own begins with a record. That of any other begins with
    /// this.
    pub waits: bool,
    /// How it was sent, where that says anything.
    pub sent: Option<Box<Sent>>,
}

impl Record {
    /// A change that readers see.
    pub fn update(sequence: u64, response: StreamResponse) -> Self {
        Self::Update(Arc::new(StreamEvent::new(Some(sequence), response)))
    }

    /// A message that came to the task, and has its turn at once.
    pub fn received(sequence: u64, message: Message) -> Self {
        Self::Received(Arc::new(Received { sequence, message, waits: false, sent: None }))
    }

    /// A message that came to the task, and waits for its turn.
    pub fn waiting(sequence: u64, message: Message) -> Self {
        Self::Received(Arc::new(Received { sequence, message, waits: true, sent: None }))
    }

    /// Keeps how the message of this record was sent, if that says anything; nothing where it has none.
    pub fn sent_with(self, sent: Option<Sent>) -> Self {
        match (self, sent) {
            (Self::Received(received), Some(sent)) => {
                let sent = Some(Box::new(sent));
                Self::Received(Arc::new(Received { sent, ..Arc::unwrap_or_clone(received) }))
            }
            (Self::Update(event), Some(sent)) if matches!(event.response, StreamResponse::Task(_)) => {
                Self::Submitted(Arc::new(Submitted { event, sent }))
            }
            (record, _) => record,
        }
    }

    /// The place in the log.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Update(event) => event.sequence.unwrap_or_default(),
            Self::Submitted(submitted) => submitted.event.sequence.unwrap_or_default(),
            Self::Received(received) => received.sequence,
            Self::Begun(sequence) => *sequence,
        }
    }

    /// How many bytes it carries: text, files, data and metadata, as
    /// [`Limits::task_size`](crate::Limits::task_size) counts them.
    pub fn size(&self) -> usize {
        match self {
            Self::Update(event) => weight::of_event(&event.response),
            Self::Submitted(submitted) => {
                weight::of_event(&submitted.event.response) + size::of_sent(Some(&submitted.sent))
            }
            Self::Received(received) => weight::of_message(&received.message) + size::of_sent(received.sent.as_deref()),
            Self::Begun(_) => 0,
        }
    }

    /// What readers see of it.
    pub fn as_update(&self) -> Option<&Arc<StreamEvent>> {
        match self {
            Self::Update(event) => Some(event),
            Self::Submitted(submitted) => Some(&submitted.event),
            Self::Received(_) | Self::Begun(_) => None,
        }
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        let is_same =
            |one: &StreamEvent, two: &StreamEvent| one.sequence == two.sequence && one.response == two.response;
        match (self, other) {
            (Self::Update(one), Self::Update(two)) => is_same(one, two),
            (Self::Submitted(one), Self::Submitted(two)) => is_same(&one.event, &two.event) && one.sent == two.sent,
            (Self::Received(one), Self::Received(two)) => one == two,
            (Self::Begun(one), Self::Begun(two)) => one == two,
            _ => false,
        }
    }
}
