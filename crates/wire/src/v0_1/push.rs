//! Push notification configurations. In 0.1 each task has at most one, so the id of the task names the configuration.

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

// If there are several schemes, the first wins.
shape! {
    AuthenticationInfo as Oldest {
        scheme => listed "schemes" | "scheme",
        credentials => implicit "credentials",
    }
}

/// `TaskPushNotificationConfig` of 0.1: the id of a task, and its configuration if the task has one.
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
    /// A configuration without an address counts as absent.
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let id = config.task_id.clone().unwrap_or_default();
        Self { id, config: Some(config.clone()).filter(|config| !config.url.is_empty()) }
    }
}
