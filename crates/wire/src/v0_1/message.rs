//! Messages and statuses. Messages of 0.1 have no ids, and 0.1 has fewer states.

use nuncio_model::{Leniency, Message, MessageId, Part, Parts, Role, Struct, TaskState, TaskStatus};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

use super::{Oldest, mark};
use crate::{
    json, part,
    shape::{In, Shape, out, reads},
};

/// Writes a message. For the message of a status, the state is written into the metadata if 0.1 does not define the
/// state.
pub(super) struct MessageOut<'a>(pub(super) &'a Message, pub(super) Option<TaskState>);

impl Serialize for MessageOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(message, state) = self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("role", if message.role == Role::User { "user" } else { "agent" })?;
        map.serialize_entry("parts", &out::<Oldest, _>(&message.parts))?;
        if let Some(metadata) = mark::ShownMetadata::new(message.metadata.as_deref(), *state) {
            map.serialize_entry("metadata", &metadata)?;
        }
        map.end()
    }
}

// The kind of a part is the member `type` in 0.1.
impl Shape<Oldest> for Part {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        part::write(self.into(), "type", to)
    }
}

impl Shape<Oldest> for Parts {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        part::write_all(self, "type", to)
    }
    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

impl Shape<Oldest> for Message {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        MessageOut(self, None).serialize(to)
    }
}

reads! {
    Message as Oldest, named Message {
        role => required "role",
        parts => required "parts",
        metadata => presence "metadata",
    }
}

/// Gives a received message an id, because messages of 0.1 have no id. An absent or unknown role becomes `otherwise`.
pub(super) fn complete(message: &mut Message, otherwise: Role) {
    message.message_id = MessageId::generate();
    if message.role == Role::Unspecified {
        message.role = otherwise;
    }
}

/// Reads a message that an agent sent instead of a task: alone, or as the member `message`.
pub(super) fn alone(answer: &[u8]) -> Option<Message> {
    #[derive(Deserialize)]
    struct Members {
        message: Option<In<Oldest, Message>>,
        parts: Option<In<Oldest, Vec<Part>>>,
        role: Option<In<Oldest, Role>>,
    }
    let Members { message, parts, role } = json::answer(answer).ok()?;
    let mut message = match (message, parts) {
        (Some(message), _) => message.0,
        (None, Some(parts)) => {
            Message { role: role.map(|role| role.0).unwrap_or_default(), parts: parts.0, ..Message::default() }
        }
        (None, None) => return None,
    };
    Leniency::BareMessage.note();
    complete(&mut message, Role::Agent);
    Some(message)
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

/// The state for the metadata of the enclosing object. `None` if the status has a message, because the metadata of the
/// message carries the state.
pub(super) fn state_around(status: &TaskStatus) -> Option<TaskState> {
    Some(status.state).filter(|_| status.message.is_none())
}

fn state_name(state: TaskState) -> &'static str {
    match mark::known(state) {
        TaskState::Unspecified => "unknown",
        state => state.short(),
    }
}

reads! {
    TaskStatus as Oldest, named TaskStatus {
        state => required "state",
        message => presence "message",
        timestamp => presence "timestamp",
    }
}

/// Completes a received status. `around` is the metadata of the enclosing object.
pub(super) fn complete_status(status: &mut TaskStatus, around: &mut Option<Box<Struct>>) {
    let told_in = status.message.as_mut().map_or(around, |message| &mut message.metadata);
    status.state = mark::take_state(status.state, told_in);
    if let Some(message) = &mut status.message {
        complete(message, Role::Agent);
    }
}
