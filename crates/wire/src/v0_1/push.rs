//! Push notification configurations: one per task, named by the task (P-1).

use nuncio_model::{AuthenticationInfo, TaskId, TaskPushNotificationConfig};

use super::Oldest;
use crate::shape::shape;

shape! {
    TaskPushNotificationConfig as Oldest {
        url => required "url",
        token => implicit "token",
        authentication => presence "authentication",
    }
}

// Of several schemes the first counts.
shape! {
    AuthenticationInfo as Oldest {
        scheme => listed "schemes" | "scheme",
        credentials => implicit "credentials",
    }
}

/// `TaskPushNotificationConfig`: a configuration beside its task's id, or none.
#[derive(Default)]
pub(super) struct OldestTaskConfig {
    pub(super) id: TaskId,
    pub(super) config: Option<TaskPushNotificationConfig>,
}

shape! {
    OldestTaskConfig as Oldest {
        id => required "id",
        config => required "pushNotificationConfig" | "push_notification_config",
    }
}

impl From<&TaskPushNotificationConfig> for OldestTaskConfig {
    /// One without an address is none.
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let id = config.task_id.clone().unwrap_or_default();
        Self { id, config: Some(config.clone()).filter(|config| !config.url.is_empty()) }
    }
}
