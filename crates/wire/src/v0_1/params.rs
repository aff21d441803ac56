//! Params of calls.
//!
//! In 0.1 an absent `historyLength` means no history. In 1.0 it means all history.

use nuncio_model::{
    Call, ContextId, Error, FieldViolation, Message, Method, Role, Struct, TaskId, TaskPushNotificationConfig,
    op::{
        CancelTaskRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest, SendMessageConfiguration,
        SendMessageRequest, SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};
use serde_json::value::RawValue;

use super::{Oldest, message::complete, push::OldestTaskConfig};
use crate::{
    dialect::wrong_reply,
    json,
    shape::{In, Read, Shape, out, shape},
};

/// Reads and checks the params of a call.
pub(super) fn read(method: Method, params: &str) -> Result<Call, Error> {
    Ok(match method {
        Method::SendMessage => Call::SendMessage(send(params)?),
        Method::SendStreamingMessage => Call::SendStreamingMessage(SendStreamingMessageRequest(send(params)?)),
        Method::GetTask => {
            let params: TaskQueryParams = value(params)?;
            let mut violations = ParamViolations::default();
            let id = violations.id(params.id);
            let history_length = Some(violations.history_length(params.history_length));
            violations.or(Call::GetTask(GetTaskRequest { id, history_length, ..Default::default() }))?
        }
        Method::CancelTask => {
            let (id, metadata) = task(params)?;
            Call::CancelTask(CancelTaskRequest { id, metadata, ..Default::default() })
        }
        Method::SubscribeToTask => Call::SubscribeToTask(SubscribeToTaskRequest::new(task(params)?.0)),
        Method::GetTaskPushNotificationConfig => {
            let (task_id, _) = task(params)?;
            let request = GetTaskPushNotificationConfigRequest { task_id, ..Default::default() };
            Call::GetTaskPushNotificationConfig(request)
        }
        Method::CreateTaskPushNotificationConfig => Call::CreateTaskPushNotificationConfig(set_push(params)?),
        method => return Err(wrong_reply(method)),
    })
}

/// `TaskSendParams`.
#[derive(Default)]
struct Send {
    id: TaskId,
    session_id: Option<ContextId>,
    message: Option<Message>,
    push_notification: Option<TaskPushNotificationConfig>,
    history_length: Option<i32>,
    metadata: Option<Box<Struct>>,
}

shape! {
    Send as Oldest {
        id => required "id",
        session_id => implicit "sessionId" | "session_id",
        message => presence "message",
        push_notification => presence "pushNotification" | "push_notification",
        history_length => presence "historyLength" | "history_length",
        metadata => presence "metadata",
    }
}

/// `TaskQueryParams`, and also `TaskIdParams`, which has the same members without the history.
#[derive(Default)]
struct TaskQueryParams {
    id: TaskId,
    history_length: Option<i32>,
    metadata: Option<Box<Struct>>,
}

shape! {
    TaskQueryParams as Oldest {
        id => required "id",
        history_length => presence "historyLength" | "history_length",
        metadata => presence "metadata",
    }
}

fn value<T: Read<Oldest>>(params: &str) -> Result<T, Error> {
    json::params::<In<Oldest, T>>(params).map(|value| value.0)
}

fn send(params: &str) -> Result<SendMessageRequest, Error> {
    let params: Send = value(params)?;
    let mut violations = ParamViolations::default();
    let mut message = violations.message(params.message);
    // A client that omits the id of the task gets a generated id.
    message.task_id = Some(if params.id.is_empty() { TaskId::generate() } else { params.id });
    message.context_id = params.session_id;
    let hook = params.push_notification;
    if hook.as_ref().is_some_and(|config| config.url.is_empty()) {
        violations.add("pushNotification.url", "is required");
    }
    let configuration = SendMessageConfiguration {
        task_push_notification_config: hook,
        history_length: Some(violations.history_length(params.history_length)),
        ..Default::default()
    };
    let request = SendMessageRequest { metadata: params.metadata, ..SendMessageRequest::new(message) };
    violations.or(request.with_configuration(configuration))
}

/// A configuration without an address removes the existing webhook.
fn set_push(params: &str) -> Result<TaskPushNotificationConfig, Error> {
    let OldestTaskConfig { id, config } = value(params)?;
    let mut violations = ParamViolations::default();
    let task_id = Some(violations.id(id));
    if config.as_ref().is_some_and(|config| config.url.is_empty()) {
        violations.add("pushNotificationConfig.url", "is required");
    }
    violations.or(TaskPushNotificationConfig { task_id, ..config.unwrap_or_default() })
}

fn task(params: &str) -> Result<(TaskId, Option<Box<Struct>>), Error> {
    let params: TaskQueryParams = value(params)?;
    let mut violations = ParamViolations::default();
    let id = violations.id(params.id);
    violations.or((id, params.metadata))
}

/// The violations in params.
#[derive(Default)]
struct ParamViolations(Vec<FieldViolation>);

impl ParamViolations {
    fn add(&mut self, field: &str, description: &str) {
        self.0.push(FieldViolation { field: field.to_owned(), description: description.to_owned() });
    }

    fn or<T>(self, value: T) -> Result<T, Error> {
        if self.0.is_empty() { Ok(value) } else { Err(Error::violations(self.0)) }
    }

    fn id(&mut self, id: TaskId) -> TaskId {
        if id.is_empty() {
            self.add("id", "is required");
        }
        id
    }

    fn message(&mut self, message: Option<Message>) -> Message {
        let Some(mut message) = message else {
            self.add("message", "is required");
            return Message::default();
        };
        complete(&mut message, Role::User);
        if message.role != Role::User {
            self.add("message.role", "a client sends user");
        }
        if message.parts.is_empty() {
            self.add("message.parts", "must hold at least one part");
        }
        message
    }

    fn history_length(&mut self, length: Option<i32>) -> i32 {
        let length = length.unwrap_or_default();
        if length < 0 {
            self.add("historyLength", "must not be negative");
        }
        length
    }
}

/// Writes the params of a call. `None` if 0.1 has no such call.
pub(super) fn write(call: &Call) -> Option<Box<RawValue>> {
    let of_task = |id: &TaskId| TaskQueryParams { id: id.clone(), ..TaskQueryParams::default() };
    Some(match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(SendStreamingMessageRequest(request)) => {
            let configuration = request.configuration.as_deref();
            raw(&Send {
                id: request.message.task_id.clone().unwrap_or_default(),
                session_id: request.message.context_id.clone(),
                push_notification: configuration.and_then(configured_hook),
                history_length: history_length(request.history_length()),
                metadata: request.metadata.clone(),
                message: Some(request.message.clone()),
            })
        }
        Call::GetTask(request) => {
            raw(&TaskQueryParams { history_length: history_length(request.history_length), ..of_task(&request.id) })
        }
        Call::CancelTask(request) => {
            raw(&TaskQueryParams { metadata: request.metadata.clone(), ..of_task(&request.id) })
        }
        Call::SubscribeToTask(request) => raw(&of_task(&request.id)),
        Call::GetTaskPushNotificationConfig(request) => raw(&of_task(&request.task_id)),
        Call::CreateTaskPushNotificationConfig(config) => raw(&OldestTaskConfig::from(config)),
        _ => return None,
    })
}

fn raw<T: Shape<Oldest>>(value: &T) -> Box<RawValue> {
    json::raw(&out::<Oldest, T>(value))
}

/// A webhook without an address counts as absent.
fn configured_hook(configuration: &SendMessageConfiguration) -> Option<TaskPushNotificationConfig> {
    configuration.task_push_notification_config.clone().filter(|config| !config.url.is_empty())
}

/// An absent length of 1.0 means all history, which 0.1 must request explicitly. A length of 0 means no history, which
/// 0.1 expresses by an absent member.
fn history_length(length: Option<i32>) -> Option<i32> {
    Some(length.unwrap_or(i32::MAX)).filter(|length| *length > 0)
}
