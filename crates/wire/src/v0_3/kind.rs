//! The type of an object, by its `kind`, or by its other members if the `kind` is absent.

use nuncio_model::{
    Error, ErrorKind, Leniency, Message, StreamResponse, Task, TaskState, TaskStatusUpdateEvent, json::Key,
};
use serde::{Deserialize, de::IgnoredAny};

use super::Kinded;
use crate::{
    dialect::finality,
    json,
    shape::{In, Shape, out},
};

/// Writes one event of a stream, without an enclosing member.
pub(super) fn write_event(event: &StreamResponse, to: &mut Vec<u8>) {
    match event {
        StreamResponse::Task(task) => write(task, to),
        StreamResponse::Message(message) => write(message, to),
        StreamResponse::StatusUpdate(update) => write(update, to),
        StreamResponse::ArtifactUpdate(update) => write(update, to),
    }
}

/// Writes a value with its `kind`.
pub(super) fn write<T: Shape<Kinded>>(value: &T, to: &mut Vec<u8>) {
    json::write(&out::<Kinded, T>(value), to);
}

/// Reads one event of a stream.
pub(super) fn read_event(json: &[u8]) -> Result<StreamResponse, Error> {
    Ok(match kind(json)? {
        Kind::Task => StreamResponse::Task(read(json)?),
        Kind::Message => StreamResponse::Message(read(json)?),
        Kind::StatusUpdate => StreamResponse::StatusUpdate(read_status(json)?),
        Kind::ArtifactUpdate => StreamResponse::ArtifactUpdate(read(json)?),
    })
}

fn read_status(json: &[u8]) -> Result<TaskStatusUpdateEvent, Error> {
    #[derive(Deserialize)]
    struct Members {
        #[serde(rename = "final", default)]
        is_final: Option<bool>,
    }
    let mut update: TaskStatusUpdateEvent = read(json)?;
    if update.status.state == TaskState::Unspecified {
        let is_last = json::answer::<Members>(json).is_ok_and(|members| members.is_final == Some(true));
        finality::set_last_if_unknown(&mut update, is_last);
    }
    Ok(update)
}

/// The result of a sent message.
pub(super) enum Outcome {
    /// A task.
    Task(Task),
    /// A direct answer.
    Message(Message),
}

/// Reads the result of a sent message.
pub(super) fn read_outcome(json: &[u8]) -> Result<Outcome, Error> {
    match kind(json)? {
        Kind::Task => read(json).map(Outcome::Task),
        Kind::Message => read(json).map(Outcome::Message),
        Kind::StatusUpdate | Kind::ArtifactUpdate => Err(unknown("neither a task nor a message")),
    }
}

/// Reads the answer of a peer.
pub(super) fn read<T: Shape<Kinded>>(json: &[u8]) -> Result<T, Error> {
    json::answer::<In<Kinded, T>>(json).map(|value| value.0)
}

enum Kind {
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

impl Kind {
    const NAMES: [(&'static str, Self); 4] = [
        ("task", Self::Task),
        ("message", Self::Message),
        ("status-update", Self::StatusUpdate),
        ("artifact-update", Self::ArtifactUpdate),
    ];

    fn of_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
    }
}

fn kind(json: &[u8]) -> Result<Kind, Error> {
    leading(json).map_or_else(|| searched(json), Ok)
}

/// The kind if `kind` is the first member, as most peers write it. The object is then parsed once instead of twice.
fn leading(json: &[u8]) -> Option<Kind> {
    let name = json.strip_prefix(br#"{"kind":""#)?;
    let end = memchr::memchr(b'"', name)?;
    Kind::of_name(std::str::from_utf8(&name[..end]).ok()?)
}

fn searched(json: &[u8]) -> Result<Kind, Error> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    struct Members<'a> {
        #[serde(borrow, default)]
        kind: Option<Key<'a>>,
        #[serde(default)]
        artifact: Option<IgnoredAny>,
        #[serde(default)]
        parts: Option<IgnoredAny>,
        #[serde(default)]
        status: Option<IgnoredAny>,
        #[serde(default)]
        id: Option<IgnoredAny>,
    }
    let members: Members<'_> = json::answer(json)?;
    if let Some(Key(name)) = &members.kind {
        return Kind::of_name(name).ok_or_else(|| unknown(&format!("of kind {name}")));
    }
    Leniency::WithoutKind.note();
    match members {
        Members { artifact: Some(_), .. } => Ok(Kind::ArtifactUpdate),
        Members { parts: Some(_), .. } => Ok(Kind::Message),
        Members { status: Some(_), id: Some(_), .. } => Ok(Kind::Task),
        Members { status: Some(_), .. } => Ok(Kind::StatusUpdate),
        _ => Err(unknown("an object of an unknown kind")),
    }
}

fn unknown(what: &str) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, format!("the agent's answer cannot be read: it is {what}"))
}
