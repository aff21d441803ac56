//! The paths that all versions share (section 11.3 "URL Patterns and HTTP Methods"), without the prefix of a version.

use http::Method as Verb;
use nuncio_model::{Method, PushConfigId, TaskId};

use super::{RouteError, Routed, path::Segment};

/// The operation of a path of messages, tasks or webhooks. GET and POST both subscribe to a task: the proto says GET,
/// and the texts of 0.3 (section 7.9 `tasks/resubscribe`) and 1.0 (sections 5.3 and 11.3.2) say POST.
pub(crate) fn find(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    let texts: Vec<&str> = path.iter().map(Segment::text).collect();
    let (get, post, delete) = (verb == Verb::GET, verb == Verb::POST, verb == Verb::DELETE);
    let found = |method: Method| Ok(Routed::new(method));
    let allow = |allow: &'static str| Err(RouteError::method_not_allowed(allow));
    match *texts {
        ["message:send"] if post => found(Method::SendMessage),
        ["message:stream"] if post => found(Method::SendStreamingMessage),
        ["message:send" | "message:stream"] => allow("POST"),
        ["tasks"] => only_get(verb, Method::ListTasks),
        ["tasks", id] => match path[1].split_verb(post) {
            Some((id, "cancel")) if post => found(Method::CancelTask).map(|it| it.with_task(id)),
            Some((_, "cancel")) => allow("POST"),
            Some((id, "subscribe")) if get || post => found(Method::SubscribeToTask).map(|it| it.with_task(id)),
            Some((_, "subscribe")) => allow("GET, POST"),
            _ => only_get(verb, Method::GetTask).map(|it| it.with_task(id)),
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

/// The operation of a path that can only be read.
pub(crate) fn only_get(verb: &Verb, method: Method) -> Result<Routed, RouteError> {
    if verb == Verb::GET { Ok(Routed::new(method)) } else { Err(RouteError::method_not_allowed("GET")) }
}

impl Routed {
    pub(crate) fn new(method: Method) -> Self {
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
