//! The request messages of calls. Tasks and webhooks have names, for example `tasks/{task}`.

use nuncio_model::{
    Call, Error, FieldViolation, Message as ModelMessage, Method, PushConfigId, Role, Struct, TaskId,
    TaskPushNotificationConfig as ModelConfig,
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
        SendMessageConfiguration as ModelConfiguration, SendMessageRequest as ModelRequest,
        SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};

use super::{
    message, name,
    push::{PushNotificationConfig, TaskPushNotificationConfig},
    task::Message,
};
use crate::{
    dialect::{no_list, webhook},
    json::every,
    proto::{
        fault::Fault,
        message::{Message as _, decode, survey},
        reader::Side,
    },
    v0_3::call,
};

message! {
    SendMessageRequest {
        1 message: Message = always "message" | "request",
        2 configuration: Option<SendMessageConfiguration> = presence "configuration",
        3 metadata: Option<Struct> = presence "metadata",
    }

    SendMessageConfiguration {
        1 accepted_output_modes: Vec<String> = repeated "acceptedOutputModes" | "accepted_output_modes",
        2 push_notification: Option<PushNotificationConfig> = presence
            "pushNotification" | "push_notification" | "pushNotificationConfig" | "push_notification_config",
        3 history_length: i32 = implicit "historyLength" | "history_length",
        4 blocking: Option<bool> = implicit "blocking",
    }

    GetTaskRequest {
        1 name: String = implicit "name",
        2 history_length: i32 = implicit "historyLength" | "history_length",
    }

    /// `CancelTaskRequest`, `TaskSubscriptionRequest`, `GetTaskPushNotificationConfigRequest` and
    /// `DeleteTaskPushNotificationConfigRequest`, which have the same fields.
    NameRequest {
        1 name: String = implicit "name",
    }

    CreateTaskPushNotificationConfigRequest {
        1 parent: String = implicit "parent",
        2 config_id: PushConfigId = implicit "configId" | "config_id",
        3 config: TaskPushNotificationConfig = always "config",
    }

    ListTaskPushNotificationConfigRequest {
        1 parent: String = implicit "parent",
        2 page_size: i32 = implicit "pageSize" | "page_size",
        3 page_token: Box<str> = implicit "pageToken" | "page_token",
    }

    GetAgentCardRequest {}
}

impl SendMessageRequest {
    /// The request of a call that is not streaming. `blocking` is always set, because 0.3 does not define the behaviour
    /// of a server without `blocking`.
    pub(in crate::v0_3) fn of_send(request: &ModelRequest) -> Self {
        let mut asked = Self::from(request);
        asked.configuration.get_or_insert_with(|| (&ModelConfiguration::default()).into());
        asked
    }
}

impl From<&ModelRequest> for SendMessageRequest {
    fn from(request: &ModelRequest) -> Self {
        Self {
            message: (&request.message).into(),
            configuration: request.configuration.as_deref().map(SendMessageConfiguration::from),
            metadata: request.metadata.as_deref().cloned(),
        }
    }
}

impl From<SendMessageRequest> for ModelRequest {
    fn from(request: SendMessageRequest) -> Self {
        let role = request.message.role.or(Role::User);
        Self {
            tenant: None,
            message: ModelMessage { role, ..request.message.into() },
            // A configuration with only defaults counts as absent.
            configuration: request
                .configuration
                .map(ModelConfiguration::from)
                .filter(|configuration| *configuration != ModelConfiguration::default())
                .map(Box::new),
            metadata: request.metadata.map(Box::new),
        }
    }
}

impl From<&ModelConfiguration> for SendMessageConfiguration {
    fn from(configuration: &ModelConfiguration) -> Self {
        Self {
            accepted_output_modes: configuration.accepted_output_modes.clone(),
            push_notification: configuration.task_push_notification_config.as_ref().map(PushNotificationConfig::from),
            // 0 means all history, so "no history" cannot be requested.
            history_length: configuration.history_length.unwrap_or_default(),
            blocking: Some(!configuration.return_immediately),
        }
    }
}

impl From<SendMessageConfiguration> for ModelConfiguration {
    fn from(configuration: SendMessageConfiguration) -> Self {
        Self {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: configuration.push_notification.map(Into::into),
            history_length: length(configuration.history_length),
            // A writer of protobuf, or of its JSON, cannot distinguish `false` from an absent value.
            return_immediately: configuration.blocking != Some(true),
        }
    }
}

/// The requested length of history. 0 cannot be distinguished from an absent value.
pub(in crate::v0_3) fn length(length: i32) -> Option<i32> {
    Some(length).filter(|length| *length != 0)
}

impl NameRequest {
    pub(in crate::v0_3) fn of_task(id: &TaskId) -> Self {
        Self { name: name::of_task(id.as_str()) }
    }
}

impl CreateTaskPushNotificationConfigRequest {
    /// A webhook without an id gets the id of its task.
    pub(in crate::v0_3) fn new(config: &ModelConfig) -> Self {
        let task = config.task_id.as_ref().map_or("", TaskId::as_str);
        let id = config.id.clone().unwrap_or_else(|| PushConfigId::from(task));
        let config = ModelConfig { id: Some(id.clone()), ..config.clone() };
        Self { parent: name::of_task(task), config_id: id, config: (&config).into() }
    }

    fn into_config(self) -> Result<ModelConfig, Error> {
        let mut config = ModelConfig::from(self.config);
        config.id = Some(self.config_id).filter(|id| !id.is_empty()).or(config.id);
        if !self.parent.is_empty() || config.task_id.is_none() {
            config.task_id = Some(name::task("parent", &self.parent)?);
        }
        Ok(config)
    }
}

/// Reads and checks the message of a call. Fails with `Parse`, or with `InvalidParams`, which names the field.
pub(in crate::v0_3) fn decode_call(method: Method, bytes: &[u8]) -> Result<Call, Error> {
    let call = match method {
        Method::SendMessage => Call::SendMessage(send(bytes)?),
        Method::SendStreamingMessage => Call::SendStreamingMessage(SendStreamingMessageRequest(send(bytes)?)),
        Method::GetTask => {
            let GetTaskRequest { name, history_length } = read(bytes)?;
            let mut request = nuncio_model::op::GetTaskRequest::new(name::task("name", &name)?);
            request.history_length = length(history_length);
            Call::GetTask(request)
        }
        Method::CancelTask => {
            Call::CancelTask(CancelTaskRequest { id: name::task("name", &named(bytes)?)?, ..Default::default() })
        }
        Method::SubscribeToTask => {
            let id = name::task("name", &named(bytes)?)?;
            Call::SubscribeToTask(SubscribeToTaskRequest { id, ..Default::default() })
        }
        Method::CreateTaskPushNotificationConfig => Call::CreateTaskPushNotificationConfig(
            read::<CreateTaskPushNotificationConfigRequest>(bytes)?.into_config()?,
        ),
        Method::GetTaskPushNotificationConfig => {
            let (task_id, id) = name::config("name", &named(bytes)?)?;
            Call::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest { tenant: None, task_id, id })
        }
        Method::ListTaskPushNotificationConfigs => {
            let ListTaskPushNotificationConfigRequest { parent, page_size, page_token } = read(bytes)?;
            Call::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: name::task("parent", &parent)?,
                page_size,
                page_token: Some(page_token).filter(|token| !token.is_empty()),
            })
        }
        Method::DeleteTaskPushNotificationConfig => {
            let (task_id, id) = name::config("name", &named(bytes)?)?;
            Call::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                tenant: None,
                task_id,
                id,
            })
        }
        Method::GetExtendedAgentCard => {
            read::<GetAgentCardRequest>(bytes)?;
            Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
        Method::ListTasks => return Err(no_list()),
    };
    check(&call)?;
    Ok(call)
}

/// The violations of a call, with the field names of the proto.
pub(in crate::v0_3) fn violations(call: &Call) -> Vec<FieldViolation> {
    let mut violations = call::violations(call);
    for violation in &mut violations {
        if let Some(name) = field_name(call.method(), &violation.field) {
            violation.field = name;
        }
    }
    violations
}

/// The name in the proto of a field of 1.0, if the name differs.
pub(in crate::v0_3) fn field_name(method: Method, field: &str) -> Option<String> {
    if let Some(rest) = field.strip_prefix("message.parts") {
        return Some(format!("message.content{rest}"));
    }
    webhook::field_name(method, field, "config.pushNotificationConfig", "configuration.pushNotification")
}

/// Checks a call. The violations have the field names of the proto.
fn check(call: &Call) -> Result<(), Error> {
    let mut violations = violations(call);
    match call.method() {
        // If the id of the webhook is absent, the server chooses a webhook.
        Method::GetTaskPushNotificationConfig => violations.clear(),
        Method::DeleteTaskPushNotificationConfig => {
            for violation in &mut violations {
                "name".clone_into(&mut violation.field);
            }
        }
        _ => {}
    }
    if violations.is_empty() { Ok(()) } else { Err(Error::violations(violations)) }
}

fn read<M: crate::proto::message::Message>(bytes: &[u8]) -> Result<M, Error> {
    decode(bytes, Side::Request).map_err(Fault::into_request_error)
}

fn named(bytes: &[u8]) -> Result<String, Error> {
    Ok(read::<NameRequest>(bytes)?.name)
}

fn send(bytes: &[u8]) -> Result<ModelRequest, Error> {
    match read::<SendMessageRequest>(bytes) {
        Ok(request) => Ok(request.into()),
        Err(error) => Err(every_fault(error, bytes)),
    }
}

/// The error that names every field of a message that is wrong.
#[cold]
fn every_fault(error: Error, bytes: &[u8]) -> Error {
    match survey::<SendMessageRequest>(bytes) {
        (request, Some(all)) if all.is_invalid() => {
            let incomplete = violations(&Call::SendMessage(request.into()));
            every::violations(all.into_violations(), incomplete)
        }
        _ => error,
    }
}

/// Appends the message of a call. Fails with `UnsupportedOperation` if 0.3 does not have the call.
pub(in crate::v0_3) fn encode_call(call: &Call, to: &mut Vec<u8>) -> Result<(), Error> {
    let config = |task: &TaskId, id: &PushConfigId| NameRequest { name: name::of_config(task.as_str(), id.as_str()) };
    match call {
        Call::SendMessage(request) => SendMessageRequest::of_send(request).write_fields(to),
        Call::SendStreamingMessage(request) => SendMessageRequest::from(&request.0).write_fields(to),
        Call::GetTask(request) => GetTaskRequest {
            name: name::of_task(request.id.as_str()),
            history_length: request.history_length.unwrap_or_default(),
        }
        .write_fields(to),
        Call::CancelTask(request) => NameRequest::of_task(&request.id).write_fields(to),
        Call::SubscribeToTask(request) => NameRequest::of_task(&request.id).write_fields(to),
        Call::CreateTaskPushNotificationConfig(config) => {
            CreateTaskPushNotificationConfigRequest::new(config).write_fields(to);
        }
        Call::GetTaskPushNotificationConfig(request) => config(&request.task_id, &request.id).write_fields(to),
        Call::ListTaskPushNotificationConfigs(request) => ListTaskPushNotificationConfigRequest {
            parent: name::of_task(request.task_id.as_str()),
            page_size: request.page_size,
            page_token: request.page_token.clone().unwrap_or_default(),
        }
        .write_fields(to),
        Call::DeleteTaskPushNotificationConfig(request) => config(&request.task_id, &request.id).write_fields(to),
        Call::GetExtendedAgentCard(_) => {}
        Call::ListTasks(_) => return Err(no_list()),
    }
    Ok(())
}
