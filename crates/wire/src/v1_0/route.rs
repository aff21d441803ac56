//! The paths of 1.0 (section 11.3), each also with a tenant in front.

use http::Method as Verb;
use nuncio_model::{Method, PushConfigId, TaskId, Tenant};

use super::aliases;
use crate::rest::{
    RouteError, Routed,
    path::{Segment, segments},
};

/// What a path means. Where it has a meaning without a tenant, its first segment is none; where it has none at all in 1.0,
/// it may have one as an alias.
pub(super) fn find(verb: &Verb, path: &str) -> Result<Routed, RouteError> {
    let segments = segments(path).ok_or(RouteError::NotFound)?;
    let routed = match (resolve(verb, &segments), &*segments) {
        (Err(refusal), [tenant, rest @ ..]) => resolve(verb, rest)
            .map(|routed| Routed { tenant: Some(Tenant::from(tenant.text())), ..routed })
            .map_err(|other| refusal.or(other)),
        (result, _) => result,
    };
    match routed {
        Err(RouteError::NotFound) => aliases::find_path(verb, &segments),
        routed => routed,
    }
}

/// The table of paths, without the tenant. GET and POST both subscribe (C-1).
pub(super) fn resolve(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    let texts: Vec<&str> = path.iter().map(Segment::text).collect();
    let (get, post, delete) = (verb == Verb::GET, verb == Verb::POST, verb == Verb::DELETE);
    let found = |method: Method| Ok(Routed::new(method));
    let allow = |allow: &'static str| Err(RouteError::MethodNotAllowed { allow });
    match *texts {
        ["message:send"] if post => found(Method::SendMessage),
        ["message:stream"] if post => found(Method::SendStreamingMessage),
        ["message:send" | "message:stream"] => allow("POST"),
        ["tasks"] if get => found(Method::ListTasks),
        ["extendedAgentCard"] if get => found(Method::GetExtendedAgentCard),
        ["tasks" | "extendedAgentCard"] => allow("GET"),
        ["tasks", id] => match path[1].split_verb(post) {
            Some((id, "cancel")) if post => found(Method::CancelTask).map(|it| it.with_task(id)),
            Some((_, "cancel")) => allow("POST"),
            Some((id, "subscribe")) if get || post => found(Method::SubscribeToTask).map(|it| it.with_task(id)),
            Some((_, "subscribe")) => allow("GET, POST"),
            _ if get => found(Method::GetTask).map(|it| it.with_task(id)),
            _ => allow("GET"),
        },
        ["tasks", id, "pushNotificationConfigs"] => match () {
            () if get => found(Method::ListTaskPushNotificationConfigs).map(|it| it.with_task(id)),
            () if post => found(Method::CreateTaskPushNotificationConfig).map(|it| it.with_task(id)),
            () => allow("GET, POST"),
        },
        ["tasks", id, "pushNotificationConfigs", config] => match () {
            () if get => found(Method::GetTaskPushNotificationConfig).map(|it| it.with_task(id).with_config(config)),
            () if delete => {
                found(Method::DeleteTaskPushNotificationConfig).map(|it| it.with_task(id).with_config(config))
            }
            () => allow("GET, DELETE"),
        },
        _ => Err(RouteError::NotFound),
    }
}

impl Routed {
    pub(super) fn new(method: Method) -> Self {
        Self { method, tenant: None, task_id: None, config_id: None }
    }

    fn with_task(mut self, id: &str) -> Self {
        self.task_id = Some(TaskId::from(id));
        self
    }

    fn with_config(mut self, id: &str) -> Self {
        self.config_id = Some(PushConfigId::from(id));
        self
    }
}
