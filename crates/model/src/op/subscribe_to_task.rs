//! `SubscribeToTask` (section 3.1.6): streams an existing task, beginning with a snapshot of the task.

use super::operation;
use crate::{
    error::FieldViolation,
    event::EventStream,
    id::{TaskId, Tenant},
    json::json_object,
    validate::{Validate, require},
};

json_object! {
    /// The parameters of `SubscribeToTask`.
    pub struct SubscribeToTaskRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The task.
        pub id: TaskId => required "id",
    }
}

impl SubscribeToTaskRequest {
    /// Streams this task.
    pub fn new(id: impl Into<TaskId>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

operation!(SubscribeToTaskRequest, SubscribeToTask -> EventStream);

impl Validate for SubscribeToTaskRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "id", !self.id.is_empty());
    }
}
