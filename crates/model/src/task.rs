//! Tasks and their status (sections 4.1.1 to 4.1.3).

use crate::{
    artifact::Artifact,
    id::{ContextId, TaskId},
    json::{Struct, json_enum, json_object},
    message::Message,
    timestamp::Timestamp,
};

json_enum! {
    /// Where a task stands in its life (section 4.1.3).
    pub enum TaskState("TASK_STATE_", unknown UnknownState) {
        /// Not known.
        #[default]
        Unspecified = 0, "UNSPECIFIED", "unspecified";
        /// Accepted; the agent has not spoken yet.
        Submitted = 1, "SUBMITTED", "submitted";
        /// The agent is at work.
        Working = 2, "WORKING", "working";
        /// Done. Terminal.
        Completed = 3, "COMPLETED", "completed";
        /// Ended by an error. Terminal.
        Failed = 4, "FAILED", "failed";
        /// Canceled before it was done. Terminal.
        Canceled = 5, "CANCELED", "canceled";
        /// The agent needs another message to go on. Interrupted.
        InputRequired = 6, "INPUT_REQUIRED", "input-required";
        /// The agent declined the task. Terminal.
        Rejected = 7, "REJECTED", "rejected";
        /// The agent needs credentials to go on. Interrupted.
        AuthRequired = 8, "AUTH_REQUIRED", "auth-required";
    }
}

impl TaskState {
    /// Whether the task has ended for good.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for its client.
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

json_object! {
    /// Where a task stands, since when, and what the agent says about it (section 4.1.2).
    pub struct TaskStatus {
        /// The state.
        pub state: TaskState => required "state",
        /// The agent's words about it: a question, a reason, progress.
        pub message: Option<Box<Message>> => presence "message",
        /// Since when.
        pub timestamp: Option<Timestamp> => presence "timestamp",
    }
}

impl TaskStatus {
    /// A status as of now.
    pub fn new(state: TaskState) -> Self {
        Self { state, message: None, timestamp: Some(Timestamp::now()) }
    }

    /// Says something about it.
    pub fn with_message(mut self, message: impl Into<Message>) -> Self {
        self.message = Some(Box::new(message.into()));
        self
    }
}

json_object! {
    /// The unit of work: a conversation with an aim, its state, its results (section 4.1.1).
    pub struct Task {
        /// Its id, made by the server.
        pub id: TaskId => required "id",
        /// The context that it belongs to.
        pub context_id: Option<ContextId> => implicit "contextId" | "context_id",
        /// Where it stands.
        pub status: TaskStatus => required "status",
        /// What the agent has produced.
        pub artifacts: Vec<Artifact> => implicit "artifacts",
        /// The messages so far, oldest first.
        pub history: Vec<Message> => implicit "history",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

impl Task {
    /// A task that was just submitted.
    pub fn new(id: TaskId, context_id: ContextId) -> Self {
        Self { id, context_id: Some(context_id), status: TaskStatus::new(TaskState::Submitted), ..Self::default() }
    }

    /// The state.
    pub const fn state(&self) -> TaskState {
        self.status.state
    }

    /// All its messages: the history, and behind it the one of its status.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.history.iter().chain(self.status.message.as_deref())
    }

    /// The same, to change them.
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
