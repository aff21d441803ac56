//! Reads calls of 0.3 at a server, from the path, query and body. The ids of the path win.

use nuncio_model::{
    Call, Error, Method, TaskPushNotificationConfig,
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
        SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};

use crate::{
    dialect::no_list,
    json,
    rest::{self, Routed},
    v0_3::proto::{push::AnyConfig, request},
};

/// Reads and checks a call.
pub(super) fn read(routed: &Routed, query: Option<&str>, body: &[u8]) -> Result<Call, Error> {
    let task_id = || routed.task_id.clone().unwrap_or_default();
    let id = || routed.config_id.clone().unwrap_or_default();
    let call = match routed.method {
        Method::SendMessage => Call::SendMessage(json::body::<request::SendMessageRequest>(body)?.into()),
        Method::SendStreamingMessage => Call::SendStreamingMessage(SendStreamingMessageRequest(
            json::body::<request::SendMessageRequest>(body)?.into(),
        )),
        Method::GetTask => {
            let asked: request::GetTaskRequest = parameters(query)?;
            let history_length = request::length(asked.history_length);
            Call::GetTask(GetTaskRequest { history_length, ..GetTaskRequest::new(task_id()) })
        }
        Method::CancelTask => {
            may_be_json(body)?;
            Call::CancelTask(CancelTaskRequest { id: task_id(), ..Default::default() })
        }
        Method::SubscribeToTask => {
            may_be_json(body)?;
            Call::SubscribeToTask(SubscribeToTaskRequest { id: task_id(), ..Default::default() })
        }
        Method::CreateTaskPushNotificationConfig => {
            let config = TaskPushNotificationConfig::from(json::body::<AnyConfig>(body)?);
            let task_id = Some(task_id());
            Call::CreateTaskPushNotificationConfig(TaskPushNotificationConfig { task_id, ..config })
        }
        Method::GetTaskPushNotificationConfig => {
            let (task_id, id) = (task_id(), id());
            Call::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest { tenant: None, task_id, id })
        }
        Method::ListTaskPushNotificationConfigs => {
            let asked: request::ListTaskPushNotificationConfigRequest = parameters(query)?;
            Call::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: task_id(),
                page_size: asked.page_size,
                page_token: Some(asked.page_token).filter(|token| !token.is_empty()),
            })
        }
        Method::DeleteTaskPushNotificationConfig => {
            let (task_id, id) = (task_id(), id());
            let request = DeleteTaskPushNotificationConfigRequest { tenant: None, task_id, id };
            Call::DeleteTaskPushNotificationConfig(request)
        }
        Method::GetExtendedAgentCard => Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()),
        Method::ListTasks => return Err(no_list()),
    };
    match request::violations(&call) {
        violations if violations.is_empty() => Ok(call),
        violations => Err(Error::violations(violations)),
    }
}

/// The query parameters.
const PARAMETERS: &[&str] = &["historyLength", "history_length", "pageSize", "page_size", "pageToken", "page_token"];

fn parameters<T: serde::de::DeserializeOwned>(query: Option<&str>) -> Result<T, Error> {
    json::params(&rest::to_json(query.unwrap_or_default(), PARAMETERS, &[])?)
}

/// The body is not needed, but must be JSON if it is not empty.
fn may_be_json(body: &[u8]) -> Result<(), Error> {
    if !body.trim_ascii().is_empty() {
        json::text(body)?;
    }
    Ok(())
}
