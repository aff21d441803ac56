//! `DeleteTaskPushNotificationConfig` (section 3.1.10): removes a webhook. A repeated removal is not an error.

use super::operation;
use crate::{
    error::FieldViolation,
    id::{PushConfigId, TaskId, Tenant},
    json::json_object,
    validate::{Validate, require},
};

json_object! {
    /// The parameters of `DeleteTaskPushNotificationConfig`.
    pub struct DeleteTaskPushNotificationConfigRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The task.
        pub task_id: TaskId => required "taskId" | "task_id",
        /// The configuration.
        pub id: PushConfigId => required "id",
    }
}

operation!(DeleteTaskPushNotificationConfigRequest, DeleteTaskPushNotificationConfig -> ());

impl Validate for DeleteTaskPushNotificationConfigRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "taskId", !self.task_id.is_empty());
        require(violations, path, "id", !self.id.is_empty());
    }
}
