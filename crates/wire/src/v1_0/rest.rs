//! HTTP+JSON of 1.0 (section 11): the call of a request from its path, query and body.

use http::{Method as Verb, StatusCode};
use nuncio_model::{Call, Error, Method, Reply, Validate};

use super::{V1_0, call, json_events, outgoing, reply, route};
use crate::{
    dialect::{Dialect, RestDialect},
    json,
    rest::{self, Outgoing, RouteError, Routed},
};

#[derive(Debug)]
pub(super) struct Rest;

json_events!(Rest);

impl RestDialect for Rest {
    fn dialect(&self) -> &'static dyn Dialect {
        &V1_0
    }

    fn route(&self, http_method: &Verb, path: &str) -> Result<Routed, RouteError> {
        route::find(http_method, path)
    }

    fn decode_call(&self, routed: &Routed, query: Option<&str>, body: &[u8]) -> Result<Call, Error> {
        let complete = |mut call: Call| {
            apply_path(&mut call, routed);
            apply_tenant(&mut call, routed)?;
            call.validate()?;
            Ok(call)
        };
        let has_body = match routed.method {
            Method::SendMessage | Method::SendStreamingMessage | Method::CreateTaskPushNotificationConfig => true,
            Method::CancelTask | Method::SubscribeToTask => !body.trim_ascii().is_empty(),
            _ => false,
        };
        if has_body {
            return json::every_member(body, |body| complete(call::read(routed.method, &call::Source::Body(body))?));
        }
        let params = rest::to_json(query.unwrap_or_default(), PARAMETERS, FLAGS)?;
        json::every_param(&params, |params| complete(call::read(routed.method, &call::Source::Params(params))?))
    }

    fn encode_call(&self, call: &Call) -> Result<Outgoing, Error> {
        Ok(outgoing::write(call))
    }

    /// The text (sections 5.3 and 11.3.2: POST) and the annotation of the proto (GET) disagree about the verb of a
    /// subscription.
    fn encode_again(&self, call: &Call, status: StatusCode) -> Option<Outgoing> {
        let is_it = matches!(call, Call::SubscribeToTask(_)) && status == StatusCode::METHOD_NOT_ALLOWED;
        is_it.then(|| outgoing::write(call).with_other_verb())
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        match (method, reply) {
            (Method::DeleteTaskPushNotificationConfig, Reply::Deleted) => {
                to.extend_from_slice(b"{}");
                Ok(())
            }
            (method, reply) => reply::write(method, reply, to),
        }
    }

    fn decode_reply(&self, method: Method, body: &[u8]) -> Result<Reply, Error> {
        reply::read(method, body)
    }

    fn encode_error(&self, error: &Error, status: Option<http::StatusCode>, to: &mut Vec<u8>) -> http::StatusCode {
        rest::encode_error(error, status, to)
    }
}

/// The query parameters that are strings.
const PARAMETERS: &[&str] = &[
    "tenant",
    "contextId",
    "context_id",
    "status",
    "pageSize",
    "page_size",
    "pageToken",
    "page_token",
    "historyLength",
    "history_length",
    "statusTimestampAfter",
    "status_timestamp_after",
    "lastUpdatedAfter",
    "last_updated_after",
];

/// The query parameters that are `true` or `false`.
const FLAGS: &[&str] = &["includeArtifacts", "include_artifacts"];

/// The ids of the path win over the ids of the body.
fn apply_path(call: &mut Call, routed: &Routed) {
    let Some(task_id) = routed.task_id.clone() else { return };
    let config_id = routed.config_id.clone().unwrap_or_default();
    match call {
        Call::GetTask(request) => request.id = task_id,
        Call::CancelTask(request) => request.id = task_id,
        Call::SubscribeToTask(request) => request.id = task_id,
        Call::CreateTaskPushNotificationConfig(request) => request.task_id = Some(task_id),
        Call::ListTaskPushNotificationConfigs(request) => request.task_id = task_id,
        Call::GetTaskPushNotificationConfig(request) => {
            request.task_id = task_id;
            request.id = config_id;
        }
        Call::DeleteTaskPushNotificationConfig(request) => {
            request.task_id = task_id;
            request.id = config_id;
        }
        Call::SendMessage(_) | Call::SendStreamingMessage(_) | Call::ListTasks(_) | Call::GetExtendedAgentCard(_) => {}
    }
}

/// Two different tenants in the path and in the body or query are an error. The specification does not define this
/// case.
fn apply_tenant(call: &mut Call, routed: &Routed) -> Result<(), Error> {
    let Some(tenant) = &routed.tenant else { return Ok(()) };
    match call.tenant() {
        Some(other) if other != tenant => Err(Error::invalid_params("tenant", "is not the tenant of the path")),
        Some(_) => Ok(()),
        None => {
            call.set_tenant(Some(tenant.clone()));
            Ok(())
        }
    }
}
