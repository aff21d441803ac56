//! Webhooks for people, without their secrets.

use nuncio_model::{PushConfigId, TaskId, TaskPushNotificationConfig};

use super::Text;

impl Text {
    pub(crate) fn push_config(&mut self, config: &TaskPushNotificationConfig) {
        self.field_if("Push-Config", config.id.as_ref().map(PushConfigId::as_str));
        self.field_if("Task", config.task_id.as_ref().map(TaskId::as_str));
        self.field("URL", &config.url);
        self.field_if("Token", config.token.as_ref().map(|_| "***"));
        self.field_if("Authentication", config.authentication.as_ref().map(|it| it.scheme.as_str()));
    }
}
