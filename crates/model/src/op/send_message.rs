//! `SendMessage` (section 3.1.1): sends a message and waits until the task is terminal or interrupted, unless the
//! client requests an immediate answer.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::operation;
use crate::{
    artifact::Artifact,
    error::{Error, ErrorKind, FieldViolation},
    id::Tenant,
    json::{Struct, json_object},
    message::{Message, Role},
    part::Part,
    push::TaskPushNotificationConfig,
    task::Task,
    validate::{Validate, history_length, member, wrong},
};

json_object! {
    /// The parameters of `SendMessage`: a message to an agent.
    pub struct SendMessageRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The message.
        pub message: Message => required "message",
        /// The client's wishes for the answer.
        pub configuration: Option<Box<SendMessageConfiguration>> => presence "configuration",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

json_object! {
    /// The client's wishes for the answer (section 3.2.2).
    pub struct SendMessageConfiguration {
        /// The media types that the client accepts, by preference; empty means any.
        pub accepted_output_modes: Vec<String> => implicit "acceptedOutputModes" | "accepted_output_modes",
        /// A webhook for the task.
        pub task_push_notification_config: Option<TaskPushNotificationConfig> => presence
            "taskPushNotificationConfig" | "task_push_notification_config" | "pushNotificationConfig" | "push_notification_config",
        /// The maximum number of messages in the history of the answer; unset means all.
        pub history_length: Option<i32> => presence "historyLength" | "history_length",
        /// Whether the server answers as soon as the task exists.
        pub return_immediately: bool => implicit "returnImmediately" | "return_immediately" unless "blocking",
    }
}

impl SendMessageRequest {
    /// Sends this message and waits for the result.
    pub fn new(message: Message) -> Self {
        Self { message, ..Self::default() }
    }

    /// Sets the client's wishes for the answer.
    pub fn with_configuration(mut self, configuration: SendMessageConfiguration) -> Self {
        self.configuration = Some(Box::new(configuration));
        self
    }

    /// The requested history length.
    pub fn history_length(&self) -> Option<i32> {
        self.configuration.as_ref()?.history_length
    }

    /// Whether the client requests an immediate answer.
    pub fn returns_immediately(&self) -> bool {
        self.configuration.as_ref().is_some_and(|configuration| configuration.return_immediately)
    }
}

/// The resulting task, or the agent's direct answer.
#[derive(Debug, Clone, PartialEq)]
pub enum SendMessageResponse {
    /// The task.
    Task(Task),
    /// The direct answer.
    Message(Message),
}

impl SendMessageResponse {
    /// The text of the answer: the text of the direct message; otherwise the text of the task's artifacts, with a line
    /// for each artifact; otherwise the text of the task's status.
    ///
    /// A failed task has the reason in its status. A caller for which failure matters must examine [`Self::task`].
    pub fn text(&self) -> String {
        let task = match self {
            Self::Message(message) => return message.text(),
            Self::Task(task) => task,
        };
        if task.artifacts.is_empty() {
            return task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
        }
        task.artifacts.iter().map(Artifact::text).collect::<Vec<_>>().join("\n")
    }

    /// The structured data of the answer as this type: the first data part of the direct message, of the task's
    /// artifacts, or of the task's status.
    ///
    /// # Errors
    ///
    /// `InvalidAgentResponse` with the text of the answer, if the answer has no data part, or if the data does not
    /// match the type.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let of_message = |message: &Message| message.parts.iter().find_map(Part::as_data).cloned();
        let data = match self {
            Self::Message(message) => of_message(message),
            Self::Task(task) => {
                let mut artifacts = task.artifacts.iter().flat_map(|artifact| artifact.parts.iter());
                let found = artifacts.find_map(|part| part.as_data().cloned());
                found.or_else(|| task.status.message.as_deref().and_then(of_message))
            }
        };
        let invalid = |message| Error::new(ErrorKind::InvalidAgentResponse, message);
        let data = data.ok_or_else(|| invalid(format!("the answer has no data: {}", self.text())))?;
        data.parse()
            .map_err(|error| invalid(format!("the data of the answer does not match the expected type: {error}")))
    }

    /// The task, if the answer is one.
    pub fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Message(_) => None,
        }
    }

    /// The direct message, if the answer is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) => Some(message),
            Self::Task(_) => None,
        }
    }
}

impl Serialize for SendMessageResponse {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = to.serialize_map(Some(1))?;
        match self {
            Self::Task(task) => map.serialize_entry("task", task)?,
            Self::Message(message) => map.serialize_entry("message", message)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for SendMessageResponse {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        json_object! {
            /// The two members, of which exactly one is set.
            #[allow(unreachable_pub, reason = "the macro makes public types")]
            pub struct Members {
                /// The task.
                pub task: Option<Task> => presence "task",
                /// The direct answer.
                pub message: Option<Message> => presence "message",
            }
        }
        match Members::deserialize(from)? {
            Members { task: Some(task), message: None } => Ok(Self::Task(task)),
            Members { task: None, message: Some(message) } => Ok(Self::Message(message)),
            _ => Err(serde::de::Error::custom("needs one of task and message")),
        }
    }
}

operation!(SendMessageRequest, SendMessage -> SendMessageResponse);

impl Validate for SendMessageRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        let message = member(path, "message");
        if self.message == Message::default() {
            wrong(violations, message, "is required");
            return;
        }
        self.message.validate_at(&message, violations);
        if self.message.role == Role::Agent {
            wrong(violations, member(&message, "role"), "a client sends ROLE_USER");
        }
        if let Some(configuration) = &self.configuration {
            let path = member(path, "configuration");
            history_length(violations, &path, configuration.history_length);
            let webhook = configuration.task_push_notification_config.as_ref();
            if let Some(authentication) = webhook.and_then(|it| it.authentication.as_ref()) {
                authentication.validate_at(&format!("{path}.taskPushNotificationConfig.authentication"), violations);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TaskState, TaskStatus};

    #[test]
    fn the_text_of_an_answer_comes_from_the_message_the_artifacts_or_the_status() {
        let direct = SendMessageResponse::Message(Message::agent("hi"));
        assert_eq!((direct.text().as_str(), direct.task()), ("hi", None));
        assert!(direct.message().is_some());
        let mut task = Task::new("t".into(), "c".into());
        task.status = TaskStatus::new(TaskState::Failed).with_message(Message::agent("no room"));
        let failed = SendMessageResponse::Task(task.clone());
        assert_eq!((failed.text().as_str(), failed.message()), ("no room", None));
        task.artifacts = vec![Artifact::new("a", ["1".into()]), Artifact::new("b", ["2".into()])];
        let done = SendMessageResponse::Task(task);
        assert_eq!(done.text(), "1\n2");
        assert_eq!(done.task().unwrap().id.as_str(), "t");
    }
}
