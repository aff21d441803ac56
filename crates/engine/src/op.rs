//! The eleven operations, one file each, with the names of `nuncio_model::op`.

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

use std::{future::ready, sync::Arc};

use nuncio_model::{Call, Calling, NewTask, Request, TaskPushNotificationConfig, resume};

use crate::shared::Shared;

/// Calls the operation of a request.
///
/// Each operation has a future of its own, because one future for all operations would be as large as the largest of
/// them.
pub(crate) fn call(shared: &Arc<Shared>, request: Request) -> Calling<'_> {
    let Request { call, scope, extensions, last_event, new_task, push_format, context: _ } = request;
    let with = With { extensions, new_task, push_format };
    match call {
        Call::SendStreamingMessage(_) if last_event.is_some() => Box::pin(ready(Err(resume::invalid(
            "a stream is resumed by SubscribeToTask; the message was not taken again, send it without this",
        )))),
        Call::SendMessage(call) => Box::pin(send_message::call(shared, scope, call, with)),
        Call::SendStreamingMessage(call) => Box::pin(send_streaming_message::call(shared, scope, call.0, with)),
        Call::GetTask(call) => Box::pin(get_task::call(shared, scope, call)),
        Call::ListTasks(call) => Box::pin(list_tasks::call(shared, scope, call)),
        Call::CancelTask(call) => Box::pin(cancel_task::call(shared, scope, call)),
        Call::SubscribeToTask(call) => Box::pin(subscribe_to_task::call(shared, scope, call, last_event)),
        Call::CreateTaskPushNotificationConfig(call) => {
            Box::pin(create_task_push_notification_config::call(shared, scope, call, with))
        }
        Call::GetTaskPushNotificationConfig(call) => {
            Box::pin(get_task_push_notification_config::call(shared, scope, call))
        }
        Call::ListTaskPushNotificationConfigs(call) => {
            Box::pin(list_task_push_notification_configs::call(shared, scope, call))
        }
        Call::DeleteTaskPushNotificationConfig(call) => {
            Box::pin(delete_task_push_notification_config::call(shared, scope, call))
        }
        Call::GetExtendedAgentCard(_) => Box::pin(ready(get_extended_agent_card::call(shared, &scope))),
    }
}

/// The context of a message.
#[derive(Clone)]
pub(crate) struct With {
    pub(crate) extensions: Vec<Box<str>>,
    pub(crate) new_task: Option<Box<NewTask>>,
    pub(crate) push_format: Option<&'static str>,
}

/// A push configuration without its secrets, as clients see it.
fn without_secrets(mut config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    config.token = None;
    if let Some(authentication) = &mut config.authentication {
        authentication.credentials = None;
    }
    config
}
