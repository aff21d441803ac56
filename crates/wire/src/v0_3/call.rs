//! Calls in JSON-RPC of 0.2 and 0.3.

use nuncio_model::{
    Call, Error, FieldViolation, Method, Role, Validate, Value,
    op::{GetExtendedAgentCardRequest, SendMessageRequest},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Kinded, params::TaskConfig};
use crate::{
    dialect::{no_list, webhook},
    json,
    shape::{In, Shape, out},
};

/// Reads and checks the params of a call.
pub(super) fn read(method: Method, params: &str) -> Result<Call, Error> {
    let call = match method {
        Method::SendMessage => Call::SendMessage(send(params)?),
        Method::SendStreamingMessage => {
            Call::SendStreamingMessage(nuncio_model::op::SendStreamingMessageRequest(send(params)?))
        }
        Method::GetTask => Call::GetTask(value(params)?),
        Method::CancelTask => Call::CancelTask(value(params)?),
        Method::SubscribeToTask => Call::SubscribeToTask(value(params)?),
        Method::CreateTaskPushNotificationConfig => {
            Call::CreateTaskPushNotificationConfig(value::<TaskConfig>(params)?.into())
        }
        Method::GetTaskPushNotificationConfig => Call::GetTaskPushNotificationConfig(value(params)?),
        Method::ListTaskPushNotificationConfigs => Call::ListTaskPushNotificationConfigs(value(params)?),
        Method::DeleteTaskPushNotificationConfig => Call::DeleteTaskPushNotificationConfig(value(params)?),
        Method::GetExtendedAgentCard => Call::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()),
        Method::ListTasks => return Err(no_list()),
    };
    check(&call)?;
    Ok(call)
}

/// A message with an unknown role becomes a message of the user, because the caller sends it. An absent role stays
/// absent.
fn send(params: &str) -> Result<SendMessageRequest, Error> {
    #[derive(Deserialize)]
    struct Params {
        message: Spoken,
    }
    #[derive(Deserialize)]
    struct Spoken {
        role: Value,
    }
    let mut request: SendMessageRequest = value(params)?;
    if request.message.role == Role::Unspecified {
        let is_unknown = match serde_json::from_str::<Params>(params).map(|params| params.message.role) {
            Ok(Value::String(name)) => !name.is_empty() && Role::from_name(&name).is_none(),
            Ok(Value::Number(number)) => number.as_i64() != Some(0),
            _ => false,
        };
        if is_unknown {
            request.message.role = Role::User;
        }
    }
    Ok(request)
}

fn value<T: Shape<Kinded>>(params: &str) -> Result<T, Error> {
    json::params::<In<Kinded, T>>(params).map(|value| value.0)
}

/// Writes the params of a call.
pub(super) fn write(call: &Call) -> Result<Box<RawValue>, Error> {
    Ok(match call {
        Call::SendMessage(request) => raw(request),
        Call::SendStreamingMessage(request) => raw(&request.0),
        Call::GetTask(request) => raw(request),
        Call::CancelTask(request) => raw(request),
        Call::SubscribeToTask(request) => raw(request),
        Call::CreateTaskPushNotificationConfig(config) => raw(&TaskConfig::from(config)),
        Call::GetTaskPushNotificationConfig(request) => raw(request),
        Call::ListTaskPushNotificationConfigs(request) => raw(request),
        Call::DeleteTaskPushNotificationConfig(request) => raw(request),
        Call::GetExtendedAgentCard(_) => RawValue::from_string("{}".to_owned()).map_err(Error::internal)?,
        Call::ListTasks(_) => return Err(no_list()),
    })
}

fn raw<T: Shape<Kinded>>(value: &T) -> Box<RawValue> {
    json::raw(&out::<Kinded, T>(value))
}

/// The violations of a call, with the field names of 1.0.
pub(super) fn violations(call: &Call) -> Vec<FieldViolation> {
    let mut violations = Vec::new();
    call.validate_at("", &mut violations);
    webhook::forgive_scheme(&mut violations);
    violations
}

/// Checks a call. The violations have the field names of this family.
fn check(call: &Call) -> Result<(), Error> {
    let mut violations = violations(call);
    let method = call.method();
    // If the id of the configuration is absent, the server chooses a configuration.
    violations.retain(|it| !(method == Method::GetTaskPushNotificationConfig && it.field == "id"));
    if violations.is_empty() {
        return Ok(());
    }
    Err(Error::violations(violations.into_iter().map(|violation| renamed(method, violation)).collect()))
}

/// The name of a webhook field in this family.
pub(super) fn field_name(method: Method, field: &str) -> Option<String> {
    webhook::field_name(method, field, "pushNotificationConfig", "configuration.pushNotificationConfig")
}

fn renamed(method: Method, mut violation: FieldViolation) -> FieldViolation {
    use Method as M;
    if let Some(name) = field_name(method, &violation.field) {
        violation.field = name;
        return violation;
    }
    let name = match (method, violation.field.as_str()) {
        (
            M::GetTaskPushNotificationConfig | M::ListTaskPushNotificationConfigs | M::DeleteTaskPushNotificationConfig,
            "taskId",
        ) => "id",
        (M::DeleteTaskPushNotificationConfig, "id") => "pushNotificationConfigId",
        (_, "message.role") => {
            violation.description = violation.description.replace("ROLE_USER", "user");
            return violation;
        }
        _ => return violation,
    };
    name.clone_into(&mut violation.field);
    violation
}
