//! Requests of a client of 0.3. A subscription is a GET, as in the proto. The text has POST (section 7.9
//! `tasks/resubscribe`).

use nuncio_model::{Call, Error, TaskId, TaskPushNotificationConfig};

use crate::{
    dialect::no_list,
    rest::{Outgoing, Query, path::encode},
    v0_3::proto::{
        push,
        request::{CreateTaskPushNotificationConfigRequest, NameRequest, SendMessageRequest},
    },
};

/// The request of a call. Fails with `UnsupportedOperation` if 0.3 does not have the call.
pub(super) fn write(call: &Call) -> Result<Outgoing, Error> {
    Ok(match call {
        Call::SendMessage(request) => {
            Outgoing::post("/v1/message:send".to_owned(), &SendMessageRequest::of_send(request))
        }
        Call::SendStreamingMessage(request) => {
            Outgoing::post("/v1/message:stream".to_owned(), &SendMessageRequest::from(&request.0))
        }
        Call::GetTask(request) => Outgoing::get(
            Query::new(task(&request.id, ""))
                .with("historyLength", request.history_length.filter(|length| *length != 0)),
        ),
        Call::CancelTask(request) => Outgoing::post(task(&request.id, ":cancel"), &NameRequest::of_task(&request.id)),
        Call::SubscribeToTask(request) => Outgoing::get(Query::new(task(&request.id, ":subscribe"))),
        Call::CreateTaskPushNotificationConfig(config) => {
            let task_id = config.task_id.clone().unwrap_or_default();
            Outgoing::post(configs(&task_id), &CreateTaskPushNotificationConfigRequest::new(config))
        }
        Call::GetTaskPushNotificationConfig(request) => {
            Outgoing::get(Query::new(format!("{}/{}", configs(&request.task_id), encode(request.id.as_str()))))
        }
        Call::ListTaskPushNotificationConfigs(request) => Outgoing::get(
            Query::new(configs(&request.task_id))
                .with("pageSize", Some(request.page_size).filter(|size| *size != 0))
                .with("pageToken", request.page_token.as_ref()),
        ),
        Call::DeleteTaskPushNotificationConfig(request) => {
            Outgoing::delete(format!("{}/{}", configs(&request.task_id), encode(request.id.as_str())))
        }
        Call::GetExtendedAgentCard(_) => Outgoing::get(Query::new("/v1/card".to_owned())),
        Call::ListTasks(_) => return Err(no_list()),
    })
}

/// The request that registers a webhook without an enclosing message. The webhook itself contains its name.
pub(super) fn bare_webhook(config: &TaskPushNotificationConfig) -> Outgoing {
    let task_id = config.task_id.clone().unwrap_or_default();
    Outgoing::post(configs(&task_id), &push::TaskPushNotificationConfig::from(config))
}

fn task(id: &TaskId, verb: &str) -> String {
    format!("/v1/tasks/{}{verb}", encode(id.as_str()))
}

fn configs(task_id: &TaskId) -> String {
    task(task_id, "/pushNotificationConfigs")
}
