//! Params of calls.
//!
//! History is none unless it is asked for (K-8), where 1.0 gives all.

use nuncio_model::{
    Call, ContextId, Error, FieldViolation, Message, Method, Role, Struct, TaskId, TaskPushNotificationConfig,
    op::{
        CancelTaskRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest, SendMessageConfiguration,
        SendMessageRequest, SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    message::{MessageIn, MessageOut},
    push::{PushIn, PushOut, TaskPushIn, TaskPushOut},
};
use crate::{dialect::wrong_reply, json};

/// Reads the params of a call, and checks them.
pub(super) fn read(method: Method, params: &str) -> Result<Call, Error> {
    Ok(match method {
        Method::SendMessage => Call::SendMessage(send(params)?),
        Method::SendStreamingMessage => Call::SendStreamingMessage(SendStreamingMessageRequest(send(params)?)),
        Method::GetTask => {
            let params: Query = json::params(params)?;
            let mut wrong = Wrong::default();
            let id = wrong.id(params.id);
            let history_length = Some(wrong.history_length(params.history_length));
            wrong.or(Call::GetTask(GetTaskRequest { id, history_length, ..Default::default() }))?
        }
        Method::CancelTask => {
            let (id, metadata) = task(params)?;
            Call::CancelTask(CancelTaskRequest { id, metadata: metadata.map(Box::new), ..Default::default() })
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

fn send(params: &str) -> Result<SendMessageRequest, Error> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object")]
    #[serde(rename_all = "camelCase")]
    struct Params {
        id: Option<String>,
        session_id: Option<String>,
        message: Option<MessageIn>,
        push_notification: Option<PushIn>,
        history_length: Option<i64>,
        metadata: Option<Struct>,
    }
    let params: Params = json::params(params)?;
    let mut wrong = Wrong::default();
    let mut message = wrong.message(params.message);
    message.task_id = Some(wrong.id(params.id));
    message.context_id = params.session_id.filter(|id| !id.is_empty()).map(Into::into);
    let hook = params.push_notification.map(PushIn::into_config);
    if hook.as_ref().is_some_and(|config| config.url.is_empty()) {
        wrong.add("pushNotification.url", "is required");
    }
    let configuration = SendMessageConfiguration {
        task_push_notification_config: hook,
        history_length: Some(wrong.history_length(params.history_length)),
        ..Default::default()
    };
    let metadata = params.metadata.map(Box::new);
    let request = SendMessageRequest { metadata, ..SendMessageRequest::new(message) };
    wrong.or(request.with_configuration(configuration))
}

/// One without an address takes away the one that is there.
fn set_push(params: &str) -> Result<TaskPushNotificationConfig, Error> {
    let params: TaskPushIn = json::params(params)?;
    let mut wrong = Wrong::default();
    let task_id = Some(wrong.id(params.id.map(String::from)));
    let config = params.push_notification_config.map(PushIn::into_config);
    if config.as_ref().is_some_and(|config| config.url.is_empty()) {
        wrong.add("pushNotificationConfig.url", "is required");
    }
    wrong.or(TaskPushNotificationConfig { task_id, ..config.unwrap_or_default() })
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[serde(rename_all = "camelCase")]
struct Query {
    id: Option<String>,
    history_length: Option<i64>,
    metadata: Option<Struct>,
}

fn task(params: &str) -> Result<(TaskId, Option<Struct>), Error> {
    let params: Query = json::params(params)?;
    let mut wrong = Wrong::default();
    let id = wrong.id(params.id);
    wrong.or((id, params.metadata))
}

/// What is wrong with params.
#[derive(Default)]
struct Wrong(Vec<FieldViolation>);

impl Wrong {
    fn add(&mut self, field: &str, description: &str) {
        self.0.push(FieldViolation { field: field.to_owned(), description: description.to_owned() });
    }

    fn or<T>(self, value: T) -> Result<T, Error> {
        if self.0.is_empty() { Ok(value) } else { Err(Error::violations(self.0)) }
    }

    fn id(&mut self, id: Option<String>) -> TaskId {
        let id = id.unwrap_or_default();
        if id.is_empty() {
            self.add("id", "is required");
        }
        id.into()
    }

    fn message(&mut self, message: Option<MessageIn>) -> Message {
        let Some(message) = message else {
            self.add("message", "is required");
            return Message::default();
        };
        let message = message.into_message(Role::User);
        if message.role != Role::User {
            self.add("message.role", "a client sends user");
        }
        if message.parts.is_empty() {
            self.add("message.parts", "must hold at least one part");
        }
        message
    }

    fn history_length(&mut self, length: Option<i64>) -> i32 {
        let length = length.unwrap_or_default();
        if length < 0 {
            self.add("historyLength", "must not be negative");
        }
        i32::try_from(length.max(0)).unwrap_or(i32::MAX)
    }
}

/// Writes the params of a call; `None` where 0.1 has no such call.
pub(super) fn write(call: &Call) -> Option<Box<RawValue>> {
    Some(match call {
        Call::SendMessage(request) | Call::SendStreamingMessage(SendStreamingMessageRequest(request)) => {
            let message = &request.message;
            let configuration = request.configuration.as_deref();
            let hook = configured_hook(configuration);
            json::raw(&SendOut {
                id: message.task_id.as_ref().map_or("", |id| id.as_str()),
                session_id: message.context_id.as_ref().map(ContextId::as_str),
                message: MessageOut(message, None),
                push_notification: hook.map(PushOut),
                history_length: history_length(request.history_length()),
                metadata: request.metadata.as_deref(),
            })
        }
        Call::GetTask(request) => {
            json::raw(&TaskOut { history_length: history_length(request.history_length), ..TaskOut::new(&request.id) })
        }
        Call::CancelTask(request) => {
            json::raw(&TaskOut { metadata: request.metadata.as_deref(), ..TaskOut::new(&request.id) })
        }
        Call::SubscribeToTask(request) => json::raw(&TaskOut::new(&request.id)),
        Call::GetTaskPushNotificationConfig(request) => json::raw(&TaskOut::new(&request.task_id)),
        Call::CreateTaskPushNotificationConfig(config) => json::raw(&TaskPushOut(config)),
        _ => return None,
    })
}

fn configured_hook(configuration: Option<&SendMessageConfiguration>) -> Option<&TaskPushNotificationConfig> {
    configuration?.task_push_notification_config.as_ref().filter(|config| !config.url.is_empty())
}

/// All of the history has to be asked for, and none of it is asked for by not asking.
fn history_length(length: Option<i32>) -> Option<i32> {
    Some(length.unwrap_or(i32::MAX)).filter(|length| *length > 0)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SendOut<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    message: MessageOut<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification: Option<PushOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskOut<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Struct>,
}

impl<'a> TaskOut<'a> {
    fn new(id: &'a TaskId) -> Self {
        Self { id, history_length: None, metadata: None }
    }
}
