//! Messages and statuses (K-3, K-5): without ids, and with states that are fewer.

use nuncio_model::{Message, MessageId, Part, Role, Struct, TaskState, TaskStatus, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};

use super::mark;
use crate::{json, part};

/// Writes a message. The state is told where it is a status's, and one that 0.1 does not know.
pub(super) struct MessageOut<'a>(pub(super) &'a Message, pub(super) Option<TaskState>);

impl Serialize for MessageOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(message, state) = self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("role", if message.role == Role::User { "user" } else { "agent" })?;
        map.serialize_entry("parts", &PartsOut(&message.parts))?;
        if let Some(metadata) = mark::Shown::new(message.metadata.as_deref(), *state) {
            map.serialize_entry("metadata", &metadata)?;
        }
        map.end()
    }
}

/// Writes parts (K-4).
pub(super) struct PartsOut<'a>(pub(super) &'a [Part]);

impl Serialize for PartsOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        struct PartOut<'a>(&'a Part);
        impl Serialize for PartOut<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                part::write(self.0, "type", to)
            }
        }
        to.collect_seq(self.0.iter().map(PartOut))
    }
}

/// Reads a part.
pub(super) struct PartIn(Part);

impl<'de> Deserialize<'de> for PartIn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        part::read(from).map(Self)
    }
}

/// Reads a message.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct MessageIn {
    role: Option<Box<str>>,
    parts: Option<Vec<PartIn>>,
    metadata: Option<Struct>,
}

impl MessageIn {
    /// The message, with an id that was not there. A role that is none is `otherwise`.
    pub(super) fn into_message(self, otherwise: Role) -> Message {
        Message {
            message_id: MessageId::generate(),
            role: self.role.and_then(|role| Role::from_name(&role)).unwrap_or(otherwise),
            parts: into_parts(self.parts),
            metadata: self.metadata.map(Box::new),
            ..Message::default()
        }
    }
}

/// The parts, if there are any.
pub(super) fn into_parts(parts: Option<Vec<PartIn>>) -> Vec<Part> {
    parts.into_iter().flatten().map(|part| part.0).collect()
}

/// Writes a status.
pub(super) struct StatusOut<'a>(pub(super) &'a TaskStatus);

impl Serialize for StatusOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let status = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("state", state_name(status.state))?;
        if let Some(message) = &status.message {
            map.serialize_entry("message", &MessageOut(message, Some(status.state)))?;
        }
        if let Some(timestamp) = &status.timestamp {
            map.serialize_entry("timestamp", timestamp)?;
        }
        map.end()
    }
}

/// The state that the metadata around a status tells, as the status has no message to tell it in.
pub(super) fn state_around(status: &TaskStatus) -> Option<TaskState> {
    Some(status.state).filter(|_| status.message.is_none())
}

fn state_name(state: TaskState) -> &'static str {
    match mark::known(state) {
        TaskState::Unspecified => "unknown",
        state => state.short(),
    }
}

/// Reads a status.
#[derive(Deserialize, Default)]
#[serde(expecting = "an object")]
pub(super) struct StatusIn {
    state: Option<Box<str>>,
    message: Option<MessageIn>,
    timestamp: Option<Time>,
}

impl StatusIn {
    /// The status; `around` is the metadata of what it is the status of.
    pub(super) fn into_status(self, around: &mut Option<Struct>) -> TaskStatus {
        let state = self.state.and_then(|state| TaskState::from_name(&state)).unwrap_or_default();
        let mut message = self.message;
        let told_in = message.as_mut().map_or(around, |message| &mut message.metadata);
        let state = mark::take_state(state, told_in);
        let message = message.map(|message| message.into_message(Role::Agent));
        TaskStatus { state, message, timestamp: self.timestamp.map(|time| time.0) }
    }
}

/// Reads a time: one without an offset is in UTC.
struct Time(Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        json::time(&String::deserialize(from)?).map(Self).map_err(D::Error::custom)
    }
}
