//! Tasks and their status (sections 4.1.1 to 4.1.3).

use crate::{
    artifact::Artifact,
    id::{ContextId, TaskId},
    json::{Struct, json_enum, json_object},
    message::Message,
    timestamp::Timestamp,
};

json_enum! {
    /// The state of a task (section 4.1.3).
    pub enum TaskState("TASK_STATE_", unknown UnknownState) {
        /// Unknown.
        #[default]
        Unspecified = 0, "UNSPECIFIED", "unspecified";
        /// Accepted; the agent has not sent anything yet.
        Submitted = 1, "SUBMITTED", "submitted";
        /// The agent is working.
        Working = 2, "WORKING", "working";
        /// The agent has finished the task. Terminal.
        Completed = 3, "COMPLETED", "completed";
        /// The task ended with an error. Terminal.
        Failed = 4, "FAILED", "failed";
        /// The task was canceled before its completion. Terminal.
        Canceled = 5, "CANCELED", "canceled";
        /// The agent needs another message to continue. Interrupted.
        InputRequired = 6, "INPUT_REQUIRED", "input-required";
        /// The agent declined the task. Terminal.
        Rejected = 7, "REJECTED", "rejected";
        /// The agent needs credentials to continue. Interrupted.
        AuthRequired = 8, "AUTH_REQUIRED", "auth-required";
    }
}

impl TaskState {
    /// Whether the state is terminal.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for its client.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

json_object! {
    /// The state of a task, with the time of the change and a message of the agent (section 4.1.2).
    pub struct TaskStatus {
        /// The state.
        pub state: TaskState => required "state",
        /// A message of the agent about the state: a question, a reason, progress.
        pub message: Option<Box<Message>> => presence "message",
        /// The time of the change.
        pub timestamp: Option<Timestamp> => presence "timestamp",
    }
}

impl TaskStatus {
    /// A status with the current time.
    pub fn new(state: TaskState) -> Self {
        Self { state, message: None, timestamp: Some(Timestamp::now()) }
    }

    /// Adds a message of the agent.
    pub fn with_message(mut self, message: impl Into<Message>) -> Self {
        self.message = Some(Box::new(message.into()));
        self
    }
}

json_object! {
    /// The unit of work, with state, messages and results (section 4.1.1).
    pub struct Task {
        /// The id, created by the server.
        pub id: TaskId => required "id",
        /// The context of the task.
        pub context_id: Option<ContextId> => implicit "contextId" | "context_id",
        /// The current status.
        pub status: TaskStatus => required "status",
        /// The outputs of the agent.
        pub artifacts: Vec<Artifact> => implicit "artifacts",
        /// The messages so far, oldest first.
        pub history: Vec<Message> => implicit "history",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

impl Task {
    /// A task in the state submitted.
    pub fn new(id: TaskId, context_id: ContextId) -> Self {
        Self { id, context_id: Some(context_id), status: TaskStatus::new(TaskState::Submitted), ..Self::default() }
    }

    /// The state of the task.
    pub const fn state(&self) -> TaskState {
        self.status.state
    }

    /// All messages: the history, then the message of the status.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.history.iter().chain(self.status.message.as_deref())
    }

    /// All messages, mutable.
    pub fn messages_mut(&mut self) -> impl Iterator<Item = &mut Message> {
        self.history.iter_mut().chain(self.status.message.as_deref_mut())
    }

    /// Keeps at most the `limit` newest messages of the history (section 3.2.4); `None` keeps all.
    pub fn limit_history(&mut self, limit: Option<usize>) {
        if let Some(excess) = limit.and_then(|limit| self.history.len().checked_sub(limit)) {
            self.history.drain(..excess);
        }
    }
}
