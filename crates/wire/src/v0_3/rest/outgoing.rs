//! Requests as a client of 0.3 sends them. Subscribing is a GET, as in the proto (D-1); who finds no such verb there may
//! try POST.

use http::Method as Verb;
use nuncio_model::{Call, Error, TaskId};
use serde::Serialize;

use crate::{
    json,
    rest::{Outgoing, Query, path::encode},
    v0_3::{
        call::no_list,
        proto::request::{CreateTaskPushNotificationConfigRequest, NameRequest, SendMessageRequest},
    },
};

/// The request of a call. Fails with `UnsupportedOperation` for one that 0.3 does not have.
pub(super) fn write(call: &Call) -> Result<Outgoing, Error> {
    Ok(match call {
        Call::SendMessage(request) => post("/v1/message:send".to_owned(), &SendMessageRequest::of_send(request)),
        Call::SendStreamingMessage(request) => {
            post("/v1/message:stream".to_owned(), &SendMessageRequest::from(&request.0))
        }
        Call::GetTask(request) => get(Query::new(task(&request.id, ""))
            .with("historyLength", request.history_length.filter(|length| *length != 0))),
        Call::CancelTask(request) => post(task(&request.id, ":cancel"), &NameRequest::of_task(&request.id)),
        Call::SubscribeToTask(request) => get(Query::new(task(&request.id, ":subscribe"))),
        Call::CreateTaskPushNotificationConfig(config) => {
            let task_id = config.task_id.clone().unwrap_or_default();
            post(configs(&task_id), &CreateTaskPushNotificationConfigRequest::new(config))
        }
        Call::GetTaskPushNotificationConfig(request) => {
            get(Query::new(format!("{}/{}", configs(&request.task_id), encode(request.id.as_str()))))
        }
        Call::ListTaskPushNotificationConfigs(request) => get(Query::new(configs(&request.task_id))
            .with("pageSize", Some(request.page_size).filter(|size| *size != 0))
            .with("pageToken", request.page_token.as_ref())),
        Call::DeleteTaskPushNotificationConfig(request) => Outgoing {
            method: Verb::DELETE,
            path: format!("{}/{}", configs(&request.task_id), encode(request.id.as_str())),
            body: None,
        },
        Call::GetExtendedAgentCard(_) => get(Query::new("/v1/card".to_owned())),
        Call::ListTasks(_) => return Err(no_list()),
    })
}

fn get(query: Query) -> Outgoing {
    Outgoing { method: Verb::GET, path: query.finish(), body: None }
}

fn post(path: String, body: &impl Serialize) -> Outgoing {
    let mut to = Vec::with_capacity(256);
    json::write(body, &mut to);
    Outgoing { method: Verb::POST, path, body: Some(to) }
}

fn task(id: &TaskId, verb: &str) -> String {
    format!("/v1/tasks/{}{verb}", encode(id.as_str()))
}

fn configs(task_id: &TaskId) -> String {
    task(task_id, "/pushNotificationConfigs")
}
