//! Tasks, messages, artifacts and events.

use std::borrow::Cow;

use nuncio_model::{
    Artifact as ModelArtifact, ArtifactId, ContextId, Message as ModelMessage, MessageId, Part as ModelPart, Role,
    Struct, Task as ModelTask, TaskArtifactUpdateEvent as ModelArtifactUpdate, TaskId, TaskStatus as ModelStatus,
    TaskStatusUpdateEvent as ModelStatusUpdate,
};

use super::{
    json::{Speaker, State, Time},
    message,
    part::Part,
};
use crate::{dialect::finality, v0_3::message::is_final};

message! {
    Task {
        1 id: TaskId = implicit "id",
        2 context_id: ContextId = implicit "contextId" | "context_id",
        3 status: TaskStatus = always "status",
        4 artifacts: Vec<Artifact> = repeated "artifacts",
        5 history: Vec<Message> = repeated "history",
        6 metadata: Option<Struct> = presence "metadata",
    }

    TaskStatus {
        1 state: State = implicit "state",
        2 message: Option<Message> = presence "message" | "update",
        3 timestamp: Option<Time> = presence "timestamp",
    }

    Message {
        1 message_id: MessageId = implicit "messageId" | "message_id",
        2 context_id: ContextId = implicit "contextId" | "context_id",
        3 task_id: TaskId = implicit "taskId" | "task_id",
        4 role: Speaker = implicit "role",
        5 content: Vec<Part> = repeated "content" | "parts",
        6 metadata: Option<Struct> = presence "metadata",
        7 extensions: Vec<Box<str>> = repeated "extensions",
    }

    /// The proto has no field with the number 2.
    Artifact {
        1 artifact_id: ArtifactId = implicit "artifactId" | "artifact_id",
        3 name: Box<str> = implicit "name",
        4 description: Box<str> = implicit "description",
        5 parts: Vec<Part> = repeated "parts" | "content",
        6 metadata: Option<Struct> = presence "metadata",
        7 extensions: Vec<Box<str>> = repeated "extensions",
    }

    TaskStatusUpdateEvent {
        1 task_id: TaskId = implicit "taskId" | "task_id",
        2 context_id: ContextId = implicit "contextId" | "context_id",
        3 status: TaskStatus = always "status",
        4 is_final: bool = implicit "final",
        5 metadata: Option<Struct> = presence "metadata",
    }

    TaskArtifactUpdateEvent {
        1 task_id: TaskId = implicit "taskId" | "task_id",
        2 context_id: ContextId = implicit "contextId" | "context_id",
        3 artifact: Artifact = always "artifact",
        4 append: bool = implicit "append",
        5 last_chunk: bool = implicit "lastChunk" | "last_chunk",
        6 metadata: Option<Struct> = presence "metadata",
    }
}

/// The text, or `None` if the text is empty. Protobuf has an empty text for an absent one.
pub(super) fn filled(text: &str) -> Option<Box<str>> {
    Some(text).filter(|text| !text.is_empty()).map(Box::from)
}

fn parts_down(parts: &[ModelPart]) -> Vec<Part> {
    parts.iter().cloned().map(Part).collect()
}

fn parts_up(parts: Vec<Part>) -> Vec<ModelPart> {
    parts.into_iter().map(|part| part.0).collect()
}

/// The messages of the proto have no references to other tasks. These references are lost.
impl From<&ModelMessage> for Message {
    fn from(message: &ModelMessage) -> Self {
        Self {
            message_id: message.message_id.clone(),
            context_id: message.context_id.clone().unwrap_or_default(),
            task_id: message.task_id.clone().unwrap_or_default(),
            role: Speaker::Known(message.role),
            content: parts_down(&message.parts),
            metadata: message.metadata.as_deref().cloned(),
            extensions: message.extensions.clone(),
        }
    }
}

impl From<Message> for ModelMessage {
    fn from(message: Message) -> Self {
        Self {
            message_id: message.message_id,
            context_id: Some(message.context_id).filter(|id| !id.is_empty()),
            task_id: Some(message.task_id).filter(|id| !id.is_empty()),
            role: message.role.or(Role::Unspecified),
            parts: parts_up(message.content),
            metadata: message.metadata.map(Box::new),
            extensions: message.extensions,
            reference_task_ids: Vec::new(),
        }
    }
}

impl From<&ModelArtifact> for Artifact {
    fn from(artifact: &ModelArtifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id.clone(),
            name: artifact.name.clone().unwrap_or_default(),
            description: artifact.description.clone().unwrap_or_default(),
            parts: artifact.parts.iter().map(|part| Part(part.into())).collect(),
            metadata: artifact.metadata.as_deref().cloned(),
            extensions: artifact.extensions.clone(),
        }
    }
}

impl From<Artifact> for ModelArtifact {
    fn from(artifact: Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id,
            name: filled(&artifact.name),
            description: filled(&artifact.description),
            parts: parts_up(artifact.parts).into(),
            metadata: artifact.metadata.map(Box::new),
            extensions: artifact.extensions,
        }
    }
}

impl From<&ModelStatus> for TaskStatus {
    fn from(status: &ModelStatus) -> Self {
        Self {
            state: State(status.state),
            message: status.message.as_deref().map(Message::from),
            timestamp: status.timestamp.map(Time),
        }
    }
}

impl From<TaskStatus> for ModelStatus {
    fn from(status: TaskStatus) -> Self {
        Self {
            state: status.state.0,
            message: status.message.map(|message| Box::new(message.into())),
            timestamp: status.timestamp.map(|time| time.0),
        }
    }
}

impl From<&ModelTask> for Task {
    fn from(task: &ModelTask) -> Self {
        Self {
            id: task.id.clone(),
            context_id: task.context_id.clone().unwrap_or_default(),
            status: (&task.status).into(),
            artifacts: task.artifacts.iter().map(Artifact::from).collect(),
            history: task.history.iter().map(Message::from).collect(),
            metadata: task.metadata.as_deref().cloned(),
        }
    }
}

impl From<Task> for ModelTask {
    fn from(task: Task) -> Self {
        Self {
            id: task.id,
            context_id: Some(task.context_id).filter(|id| !id.is_empty()),
            status: task.status.into(),
            artifacts: task.artifacts.into_iter().map(Into::into).collect(),
            history: task.history.into_iter().map(Into::into).collect(),
            metadata: task.metadata.map(Box::new),
        }
    }
}

impl From<&ModelStatusUpdate> for TaskStatusUpdateEvent {
    fn from(update: &ModelStatusUpdate) -> Self {
        Self {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            status: (&update.status).into(),
            is_final: is_final(update),
            metadata: finality::without(update.metadata.as_deref()).map(Cow::into_owned),
        }
    }
}

impl From<TaskStatusUpdateEvent> for ModelStatusUpdate {
    fn from(update: TaskStatusUpdateEvent) -> Self {
        let mut model = Self {
            task_id: update.task_id,
            context_id: update.context_id,
            status: update.status.into(),
            metadata: update.metadata.map(Box::new),
        };
        finality::set_last_if_unknown(&mut model, update.is_final);
        model
    }
}

impl From<&ModelArtifactUpdate> for TaskArtifactUpdateEvent {
    fn from(update: &ModelArtifactUpdate) -> Self {
        Self {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            artifact: (&update.artifact).into(),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.as_deref().cloned(),
        }
    }
}

impl From<TaskArtifactUpdateEvent> for ModelArtifactUpdate {
    fn from(update: TaskArtifactUpdateEvent) -> Self {
        Self {
            task_id: update.task_id,
            context_id: update.context_id,
            artifact: update.artifact.into(),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.map(Box::new),
        }
    }
}
