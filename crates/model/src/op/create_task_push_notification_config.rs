//! `CreateTaskPushNotificationConfig` (section 3.1.7): registers a webhook. The request is the configuration itself; an
//! existing configuration with the same id is replaced.

use super::operation;
use crate::{
    error::FieldViolation,
    push::TaskPushNotificationConfig,
    validate::{Validate, member, require},
};

operation!(TaskPushNotificationConfig, CreateTaskPushNotificationConfig -> TaskPushNotificationConfig);

impl Validate for TaskPushNotificationConfig {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "taskId", self.task_id.is_some());
        require(violations, path, "url", !self.url.is_empty());
        if let Some(authentication) = &self.authentication {
            authentication.validate_at(&member(path, "authentication"), violations);
        }
    }
}
