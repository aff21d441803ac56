//! Messages between a client and an agent (section 4.1.4).

use crate::{
    id::{ContextId, MessageId, TaskId},
    json::{Struct, json_enum, json_object},
    part::Part,
};

json_enum! {
    /// The sender of a message (section 4.1.5).
    pub enum Role("ROLE_", unknown UnknownRole) {
        /// Not specified.
        #[default]
        Unspecified = 0, "UNSPECIFIED", "unspecified";
        /// The client.
        User = 1, "USER", "user";
        /// The agent.
        Agent = 2, "AGENT", "agent";
    }
}

json_object! {
    /// A message in the conversation between a client and an agent (section 4.1.4).
    pub struct Message {
        /// The id from the sender.
        pub message_id: MessageId => required "messageId" | "message_id",
        /// The context of the message; servers always set this field.
        pub context_id: Option<ContextId> => implicit "contextId" | "context_id",
        /// The task of the message, if there is one.
        pub task_id: Option<TaskId> => implicit "taskId" | "task_id",
        /// The sender.
        pub role: Role => required "role",
        /// The content: at least one part.
        pub parts: Vec<Part> => required "parts",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
        /// URIs of the extensions that contributed to the message.
        pub extensions: Vec<Box<str>> => implicit "extensions",
        /// Related tasks.
        pub reference_task_ids: Vec<TaskId> => implicit "referenceTaskIds" | "reference_task_ids",
    }
}

impl Message {
    /// A message of these parts with a fresh id.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { message_id: MessageId::generate(), role, parts, ..Self::default() }
    }

    /// A client's message of one part, a text for example.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::new(Role::User, vec![part.into()])
    }

    /// An agent's message of one part, a text for example.
    pub fn agent(part: impl Into<Part>) -> Self {
        Self::new(Role::Agent, vec![part.into()])
    }

    /// Adds the message to this task.
    pub fn with_task_id(mut self, task_id: impl Into<TaskId>) -> Self {
        self.task_id = Some(task_id.into());
        self
    }

    /// Adds the message to this context.
    pub fn with_context_id(mut self, context_id: impl Into<ContextId>) -> Self {
        self.context_id = Some(context_id.into());
        self
    }

    /// Attaches metadata.
    pub fn with_metadata(mut self, metadata: Struct) -> Self {
        self.metadata = Some(Box::new(metadata));
        self
    }

    /// The text of all text parts, joined by line breaks.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in self.parts.iter().filter_map(Part::as_text) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(part);
        }
        text
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::agent(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::agent(text)
    }
}
