//! `CancelTask` (section 3.1.5): requests the cancellation of a task and waits for the end of the task.

use super::operation;
use crate::{
    error::FieldViolation,
    id::{TaskId, Tenant},
    json::{Struct, json_object},
    task::Task,
    validate::{Validate, require},
};

json_object! {
    /// The parameters of `CancelTask`.
    pub struct CancelTaskRequest {
        /// The tenant, if the interface has a tenant.
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
