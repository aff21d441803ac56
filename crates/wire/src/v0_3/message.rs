//! Messages, tasks, artifacts and events in JSON with `kind` (sections 6.1 to 6.4 and 7.2).

use nuncio_model::{
    Artifact, Message, Part, Parts, Role, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use serde::Serializer;

use super::Kinded;
use crate::{
    dialect::finality,
    part,
    shape::{Shape, shape},
};

impl Shape<Kinded> for Part {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        part::write(self.into(), "kind", to)
    }
}

impl Shape<Kinded> for Parts {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        part::write_all(self, "kind", to)
    }
    fn is_unset(&self) -> bool {
        self.is_empty()
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

/// Whether a stream of this family ends with this event. The stream ends if the task has ended or needs another
/// message. A flag in the metadata overrides this rule.
pub(super) fn is_final(update: &TaskStatusUpdateEvent) -> bool {
    let is_over = || update.status.state.is_terminal() || update.status.state == TaskState::InputRequired;
    finality::last_flag(update.metadata.as_deref()).unwrap_or_else(is_over)
}

/// An enum of the model in its short form.
macro_rules! short_names {
    ($type:ident, $unspecified:literal) => {
        impl Shape<Kinded> for $type {
            fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(if *self == $type::Unspecified { $unspecified } else { self.short() })
            }
        }
    };
}
short_names!(TaskState, "unknown");
// A role must be `user` or `agent`. Only messages of agents are written without a role.
short_names!(Role, "agent");
