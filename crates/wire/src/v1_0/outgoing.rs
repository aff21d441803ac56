//! HTTP+JSON requests of a client of 1.0 (sections 11.3 and 11.5).

use nuncio_model::{Call, TaskPushNotificationConfig, op::CancelTaskRequest};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::rest::{Outgoing, Query, path::encode};

/// The request of a call. The tenant is the first segment of the path (section 11.3 "URL Patterns and HTTP Methods"),
/// and also a member of the body.
pub(super) fn write(call: &Call) -> Outgoing {
    let at = |path: String| match call.tenant() {
        Some(tenant) => format!("/{}{path}", encode(tenant.as_str())),
        None => path,
    };
    match call {
        Call::SendMessage(request) => Outgoing::post(at("/message:send".into()), request),
        Call::SendStreamingMessage(request) => Outgoing::post(at("/message:stream".into()), request),
        Call::GetTask(request) => {
            let query = Query::new(at(task(request.id.as_str(), "")));
            Outgoing::get(query.with("historyLength", request.history_length))
        }
        Call::ListTasks(request) => Outgoing::get(
            Query::new(at("/tasks".into()))
                .with("contextId", request.context_id.as_ref())
                .with("status", Some(request.status).filter(|status| status.number() != 0))
                .with("pageSize", request.page_size)
                .with("pageToken", request.page_token.as_ref())
                .with("historyLength", request.history_length)
                .with("statusTimestampAfter", request.status_timestamp_after)
                .with("includeArtifacts", request.include_artifacts),
        ),
        Call::CancelTask(request) => Outgoing::post(at(task(request.id.as_str(), ":cancel")), &CancelBody(request)),
        Call::SubscribeToTask(request) => {
            Outgoing { method: http::Method::POST, path: at(task(request.id.as_str(), ":subscribe")), body: None }
        }
        Call::CreateTaskPushNotificationConfig(request) => {
            let path = configs(request.task_id.as_ref().map_or("", |id| id.as_str()));
            Outgoing::post(at(path), &TaskPushNotificationConfig { task_id: None, ..request.clone() })
        }
        Call::GetTaskPushNotificationConfig(request) => {
            Outgoing::get(Query::new(at(config(request.task_id.as_str(), request.id.as_str()))))
        }
        Call::ListTaskPushNotificationConfigs(request) => Outgoing::get(
            Query::new(at(configs(request.task_id.as_str())))
                .with("pageSize", Some(request.page_size).filter(|size| *size != 0))
                .with("pageToken", request.page_token.as_ref()),
        ),
        Call::DeleteTaskPushNotificationConfig(request) => {
            Outgoing::delete(at(config(request.task_id.as_str(), request.id.as_str())))
        }
        Call::GetExtendedAgentCard(_) => Outgoing::get(Query::new(at("/extendedAgentCard".into()))),
    }
}

fn task(id: &str, verb: &str) -> String {
    format!("/tasks/{}{verb}", encode(id))
}

fn configs(task_id: &str) -> String {
    format!("/tasks/{}/pushNotificationConfigs", encode(task_id))
}

fn config(task_id: &str, id: &str) -> String {
    format!("{}/{}", configs(task_id), encode(id))
}

/// The members of a cancellation that are not in the path.
struct CancelBody<'a>(&'a CancelTaskRequest);

impl Serialize for CancelBody<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if let Some(tenant) = &self.0.tenant {
            map.serialize_entry("tenant", tenant)?;
        }
        if let Some(metadata) = &self.0.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}
