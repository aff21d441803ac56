//! The eleven operations, one file each, named as in `nuncio_model::op`.

mod cancel_task;
mod create_task_push_notification_config;
mod delete_task_push_notification_config;
mod get_extended_agent_card;
mod get_task;
mod get_task_push_notification_config;
mod list_task_push_notification_configs;
mod list_tasks;
mod send_message;
mod send_streaming_message;
mod subscribe_to_task;

use std::sync::Arc;

use nuncio_model::{Begins, Call, Error, Reply, Request, TaskPushNotificationConfig, resume};

use crate::shared::Shared;

/// Calls the operation that a request names.
pub(crate) async fn call(shared: &Arc<Shared>, request: Request) -> Result<Reply, Error> {
    let Request { call, scope, extensions, last_event, begins, push_format } = request;
    let with = With { extensions, begins, push_format };
    match call {
        Call::SendStreamingMessage(_) if last_event.is_some() => Err(resume::invalid(
            "a stream is resumed by SubscribeToTask; the message was not taken again, send it without this",
        )),
        Call::SendMessage(call) => send_message::call(shared, scope, call, with).await,
        Call::SendStreamingMessage(call) => send_streaming_message::call(shared, scope, call.0, with).await,
        Call::GetTask(call) => get_task::call(shared, &scope, call).await,
        Call::ListTasks(call) => list_tasks::call(shared, &scope, call).await,
        Call::CancelTask(call) => cancel_task::call(shared, &scope, call).await,
        Call::SubscribeToTask(call) => subscribe_to_task::call(shared, &scope, call, last_event).await,
        Call::CreateTaskPushNotificationConfig(call) => {
            create_task_push_notification_config::call(shared, &scope, call, push_format).await
        }
        Call::GetTaskPushNotificationConfig(call) => {
            get_task_push_notification_config::call(shared, &scope, call).await
        }
        Call::ListTaskPushNotificationConfigs(call) => {
            list_task_push_notification_configs::call(shared, &scope, call).await
        }
        Call::DeleteTaskPushNotificationConfig(call) => {
            delete_task_push_notification_config::call(shared, &scope, call).await
        }
        Call::GetExtendedAgentCard(_) => get_extended_agent_card::call(shared, &scope),
    }
}

/// What goes with a message beside the message.
pub(crate) struct With {
    pub(crate) extensions: Vec<Box<str>>,
    pub(crate) begins: Option<Box<Begins>>,
    pub(crate) push_format: Option<&'static str>,
}

/// A push configuration without its secrets, as it is shown.
fn without_secrets(mut config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    config.token = None;
    if let Some(authentication) = &mut config.authentication {
        authentication.credentials = None;
    }
    config
}
