//! `GetTaskPushNotificationConfig` (section 3.1.8): reads a webhook's configuration, without its secrets.

use super::operation;
use crate::{
    error::FieldViolation,
    id::{PushConfigId, TaskId, Tenant},
    json::json_object,
    push::TaskPushNotificationConfig,
    validate::{Validate, require},
};

json_object! {
    /// The parameters of `GetTaskPushNotificationConfig`.
    pub struct GetTaskPushNotificationConfigRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The task.
        pub task_id: TaskId => required "taskId" | "task_id",
        /// The configuration.
        pub id: PushConfigId => required "id",
    }
}

operation!(GetTaskPushNotificationConfigRequest, GetTaskPushNotificationConfig -> TaskPushNotificationConfig);

impl Validate for GetTaskPushNotificationConfigRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "taskId", !self.task_id.is_empty());
        require(violations, path, "id", !self.id.is_empty());
    }
}
