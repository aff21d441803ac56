//! Params of calls in JSON with `kind` (section 7).

use nuncio_model::{
    AuthenticationInfo, TaskId, TaskPushNotificationConfig,
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        GetTaskRequest, ListTaskPushNotificationConfigsRequest, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest,
    },
};

use super::Kinded;
use crate::shape::shape;

shape! {
    SendMessageRequest as Kinded {
        message => required "message",
        configuration => filled "configuration",
        metadata => presence "metadata",
    }
}

// `blocking` is always written, because the behaviour of peers without `blocking` is undefined.
shape! {
    SendMessageConfiguration as Kinded {
        accepted_output_modes => required "acceptedOutputModes" | "accepted_output_modes",
        return_immediately => inverted "blocking",
        history_length => presence "historyLength" | "history_length",
        task_push_notification_config => presence "pushNotificationConfig" | "push_notification_config",
    }
}

shape! {
    GetTaskRequest as Kinded {
        id => required "id",
        history_length => presence "historyLength" | "history_length",
    }
}

shape! {
    CancelTaskRequest as Kinded {
        id => required "id",
        metadata => presence "metadata",
    }
}

shape! {
    SubscribeToTaskRequest as Kinded {
        id => required "id",
    }
}

shape! {
    GetTaskPushNotificationConfigRequest as Kinded {
        task_id => required "id" | "taskId" | "task_id",
        id => implicit "pushNotificationConfigId" | "push_notification_config_id",
    }
}

shape! {
    ListTaskPushNotificationConfigsRequest as Kinded {
        task_id => required "id" | "taskId" | "task_id",
    }
}

shape! {
    DeleteTaskPushNotificationConfigRequest as Kinded {
        task_id => required "id" | "taskId" | "task_id",
        id => required "pushNotificationConfigId" | "push_notification_config_id",
    }
}

// `PushNotificationConfig`: the configuration inside a message.
shape! {
    TaskPushNotificationConfig as Kinded {
        id => implicit "id",
        url => required "url",
        token => implicit "token",
        authentication => presence "authentication",
    }
}

shape! {
    AuthenticationInfo as Kinded {
        scheme => listed "schemes" | "scheme",
        credentials => implicit "credentials",
    }
}

/// `TaskPushNotificationConfig`: the id of a task, and a configuration.
#[derive(Default)]
pub(super) struct TaskConfig {
    task_id: TaskId,
    config: TaskPushNotificationConfig,
}

shape! {
    TaskConfig as Kinded {
        task_id => required "taskId" | "task_id",
        config => required "pushNotificationConfig" | "push_notification_config",
    }
}

impl From<&TaskPushNotificationConfig> for TaskConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        Self { task_id: config.task_id.clone().unwrap_or_default(), config: config.clone() }
    }
}

impl From<TaskConfig> for TaskPushNotificationConfig {
    fn from(TaskConfig { task_id, config }: TaskConfig) -> Self {
        Self { task_id: Some(task_id).filter(|id| !id.is_empty()), ..config }
    }
}
