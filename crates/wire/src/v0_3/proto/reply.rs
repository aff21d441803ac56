//! The response messages of calls, and the events of streams.

use nuncio_model::{StreamResponse as ModelEvent, op::ListTaskPushNotificationConfigsResponse};

use super::{
    message,
    push::TaskPushNotificationConfig,
    task::{Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent},
};

message! {
    /// One member is set. `SendMessageResponse` has the first two members with the same numbers and names.
    StreamResponse {
        1 task: Option<Task> = presence "task",
        2 message: Option<Message> = presence "message" | "msg",
        3 status_update: Option<TaskStatusUpdateEvent> = presence "statusUpdate" | "status_update",
        4 artifact_update: Option<TaskArtifactUpdateEvent> = presence "artifactUpdate" | "artifact_update",
    }

    ListTaskPushNotificationConfigResponse {
        1 configs: Vec<TaskPushNotificationConfig> = repeated "configs",
        2 next_page_token: Box<str> = implicit "nextPageToken" | "next_page_token",
    }
}

impl From<&nuncio_model::Task> for StreamResponse {
    fn from(task: &nuncio_model::Task) -> Self {
        Self { task: Some(task.into()), ..Self::default() }
    }
}

impl From<&nuncio_model::Message> for StreamResponse {
    fn from(message: &nuncio_model::Message) -> Self {
        Self { message: Some(message.into()), ..Self::default() }
    }
}

impl From<&ModelEvent> for StreamResponse {
    fn from(event: &ModelEvent) -> Self {
        match event {
            ModelEvent::Task(task) => task.into(),
            ModelEvent::Message(message) => message.into(),
            ModelEvent::StatusUpdate(update) => Self { status_update: Some(update.into()), ..Self::default() },
            ModelEvent::ArtifactUpdate(update) => Self { artifact_update: Some(update.into()), ..Self::default() },
        }
    }
}

impl StreamResponse {
    /// The event, or the reason why the message is not an event.
    pub(in crate::v0_3) fn into_event(self) -> Result<ModelEvent, &'static str> {
        match self {
            Self { task: Some(task), message: None, status_update: None, artifact_update: None } => {
                Ok(ModelEvent::Task(task.into()))
            }
            Self { task: None, message: Some(message), status_update: None, artifact_update: None } => {
                Ok(ModelEvent::Message(message.into()))
            }
            Self { task: None, message: None, status_update: Some(update), artifact_update: None } => {
                Ok(ModelEvent::StatusUpdate(update.into()))
            }
            Self { task: None, message: None, status_update: None, artifact_update: Some(update) } => {
                Ok(ModelEvent::ArtifactUpdate(update.into()))
            }
            _ => Err("needs one of task, message, statusUpdate and artifactUpdate"),
        }
    }
}

impl From<&ListTaskPushNotificationConfigsResponse> for ListTaskPushNotificationConfigResponse {
    fn from(page: &ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: page.configs.iter().map(TaskPushNotificationConfig::from).collect(),
            next_page_token: page.next_page_token.clone(),
        }
    }
}

impl From<ListTaskPushNotificationConfigResponse> for ListTaskPushNotificationConfigsResponse {
    fn from(page: ListTaskPushNotificationConfigResponse) -> Self {
        Self { configs: page.configs.into_iter().map(Into::into).collect(), next_page_token: page.next_page_token }
    }
}
