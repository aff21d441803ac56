//! A record of the log of a task.

use std::sync::Arc;

use nuncio_model::{
    Message, StreamEvent, StreamResponse, Struct,
    op::{SendMessageConfiguration, SendMessageRequest},
    weight,
};
use serde::{Deserialize, Serialize};

use crate::size;

/// A change of a task. Records of a task are numbered 1, 2, 3 …, and the task is the fold of its records.
#[derive(Debug, Clone)]
pub enum Record {
    /// A change that readers see. The first record of each log is such a change: the submitted task.
    Update(Arc<StreamEvent>),
    /// A first record with the data of its request.
    Submitted(Arc<Submitted>),
    /// A message of the client.
    Received(Arc<Received>),
    /// The begin of the turn of the message that has waited longest, with its sequence number.
    Begun(u64),
}

/// The submitted task, with the data of its request.
#[derive(Debug)]
pub struct Submitted {
    /// The change that readers see.
    pub event: Arc<StreamEvent>,
    /// The data of the request.
    pub sent: Sent,
}

/// The data of a request beside its message, for a turn that runs later or again. Readers do not see the data. A
/// webhook is not part of the data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The configuration of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Box<SendMessageConfiguration>>,
    /// The metadata of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<Struct>>,
    /// The active extensions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Box<str>>,
}

impl Sent {
    /// The data of a request beside its message, if there is any.
    pub(crate) fn of(request: &SendMessageRequest, extensions: &[Box<str>]) -> Option<Self> {
        let configuration = request.configuration.as_ref().filter(|it| ***it != SendMessageConfiguration::default());
        if configuration.is_none() && request.metadata.is_none() && extensions.is_empty() {
            return None;
        }
        let (configuration, metadata) = (configuration.cloned(), request.metadata.clone());
        Some(Self { configuration, metadata, extensions: extensions.to_vec() })
    }
}

/// A message of the client in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// The sequence number.
    pub sequence: u64,
    /// The message.
    pub message: Message,
    /// Whether the message waits behind another turn. Its turn then begins with a record of its own. Otherwise the turn
    /// begins with this record.
    pub waits: bool,
    /// The data of the request, if there is any.
    pub sent: Option<Box<Sent>>,
}

impl Record {
    /// A change that readers see.
    pub fn update(sequence: u64, response: StreamResponse) -> Self {
        Self::Update(Arc::new(StreamEvent::new(Some(sequence), response)))
    }

    /// A message with a turn that begins at once.
    pub fn received(sequence: u64, message: Message) -> Self {
        Self::Received(Arc::new(Received { sequence, message, waits: false, sent: None }))
    }

    /// A message that waits for its turn.
    pub fn waiting(sequence: u64, message: Message) -> Self {
        Self::Received(Arc::new(Received { sequence, message, waits: true, sent: None }))
    }

    /// Adds the data of the request to a record with a message. Other records stay unchanged.
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

    /// The sequence number.
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Update(event) => event.sequence.unwrap_or_default(),
            Self::Submitted(submitted) => submitted.event.sequence.unwrap_or_default(),
            Self::Received(received) => received.sequence,
            Self::Begun(sequence) => *sequence,
        }
    }

    /// The size of the content in bytes: text, files, data and metadata, as counted by
    /// [`Limits::task_size`](crate::Limits::task_size).
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

    /// The change that readers see, if there is one.
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
