//! Messages, tasks, artifacts and events in JSON with `kind` (sections 6.1 to 6.4 and 7.2).

use nuncio_model::{
    Artifact, Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use serde::{Deserializer, Serializer, de};

use super::Kinded;
use crate::{
    dialect::finality,
    part,
    shape::{Shape, shape},
};

impl Shape<Kinded> for Part {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        part::write(self, "kind", to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        part::read(from)
    }
}

shape! {
    Message as Kinded, kind "message" {
        message_id => required "messageId" | "message_id",
        context_id => implicit "contextId" | "context_id",
        task_id => implicit "taskId" | "task_id",
        role => required "role",
        parts => required "parts",
        metadata => presence "metadata",
        extensions => implicit "extensions",
        reference_task_ids => implicit "referenceTaskIds" | "reference_task_ids",
    }
}

shape! {
    Task as Kinded, kind "task" {
        id => required "id",
        context_id => filled "contextId" | "context_id",
        status => required "status",
        artifacts => implicit "artifacts",
        history => implicit "history",
        metadata => presence "metadata",
    }
}

shape! {
    TaskStatus as Kinded {
        state => required "state",
        message => presence "message",
        timestamp => presence "timestamp",
    }
}

shape! {
    Artifact as Kinded {
        artifact_id => required "artifactId" | "artifact_id",
        name => implicit "name",
        description => implicit "description",
        parts => required "parts",
        metadata => presence "metadata",
        extensions => implicit "extensions",
    }
}

shape! {
    TaskStatusUpdateEvent as Kinded, kind "status-update" {
        task_id => required "taskId" | "task_id",
        context_id => required "contextId" | "context_id",
        status => required "status",
        metadata => shown "metadata",
    }
    and "final" by is_final
}

shape! {
    TaskArtifactUpdateEvent as Kinded, kind "artifact-update" {
        task_id => required "taskId" | "task_id",
        context_id => required "contextId" | "context_id",
        artifact => required "artifact",
        append => required "append",
        last_chunk => required "lastChunk" | "last_chunk",
        metadata => presence "metadata",
    }
}

/// Whether a stream of this family ends with this event: the task has ended, or needs another message, or it is said so.
pub(super) fn is_final(update: &TaskStatusUpdateEvent) -> bool {
    let is_over = || update.status.state.is_terminal() || update.status.state == TaskState::InputRequired;
    finality::said(update.metadata.as_deref()).unwrap_or_else(is_over)
}

/// An enum of the model in its short form. A name that is not known is the default, `Unspecified`.
macro_rules! short_names {
    ($type:ident, $unspecified:literal $(, $alias:literal = $variant:ident)*) => {
        impl Shape<Kinded> for $type {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct NameVisitor;
                impl de::Visitor<'_> for NameVisitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($type), " by name or number"))
                    }
                    fn visit_str<E>(self, name: &str) -> Result<$type, E> {
                        if let Some(known) = $type::ALL.iter().find(|known| known.short() == name) {
                            return Ok(*known);
                        }
                        $(if name.eq_ignore_ascii_case($alias) { return Ok($type::$variant); })*
                        Ok($type::from_name(name).unwrap_or_default())
                    }
                    fn visit_u64<E>(self, number: u64) -> Result<$type, E> {
                        Ok(i32::try_from(number).ok().and_then($type::from_number).unwrap_or_default())
                    }
                }
                from.deserialize_any(NameVisitor)
            }
            fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(if *self == $type::Unspecified { $unspecified } else { self.short() })
            }
        }
    };
}
short_names!(TaskState, "unknown", "cancelled" = Canceled, "TASK_STATE_CANCELLED" = Canceled);
// A role must be one of two, and it is agents whose messages are written without one.
short_names!(Role, "agent");
