//! `CancelTask` (section 3.1.5): asks for a task to be stopped, and waits until it is.

use super::operation;
use crate::{
    error::FieldViolation,
    id::{TaskId, Tenant},
    json::{Struct, json_object},
    task::Task,
    validate::{Validate, require},
};

json_object! {
    /// Which task.
    pub struct CancelTaskRequest {
        /// The tenant of the interface, where it has one.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The task.
        pub id: TaskId => required "id",
        /// Data of extensions, keyed by their URI.
        pub metadata: Option<Box<Struct>> => presence "metadata",
    }
}

impl CancelTaskRequest {
    /// Cancels this task.
    pub fn new(id: impl Into<TaskId>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

operation!(CancelTaskRequest, CancelTask -> Task);

impl Validate for CancelTaskRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "id", !self.id.is_empty());
    }
}
