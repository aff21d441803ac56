//! `GetTask` (section 3.1.3): reads a task.

use super::operation;
use crate::{
    error::FieldViolation,
    id::{TaskId, Tenant},
    json::json_object,
    task::Task,
    validate::{Validate, history_length, require},
};

json_object! {
    /// The parameters of `GetTask`.
    pub struct GetTaskRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The task.
        pub id: TaskId => required "id",
        /// The maximum number of messages in the history; the newest messages are kept. Unset means all messages.
        pub history_length: Option<i32> => presence "historyLength" | "history_length",
    }
}

impl GetTaskRequest {
    /// Reads this task with all of its history.
    pub fn new(id: impl Into<TaskId>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

operation!(GetTaskRequest, GetTask -> Task);

impl Validate for GetTaskRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "id", !self.id.is_empty());
        history_length(violations, path, self.history_length);
    }
}
