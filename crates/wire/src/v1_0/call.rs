//! Calls of 1.0. The params of a call are the JSON of its request (section 9.4 "Core Methods").

use nuncio_model::{Call, Error, Method, TaskPushNotificationConfig};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::aliases;
use crate::json;

/// JSON text to read.
pub(super) enum Source<'a> {
    /// Params of JSON-RPC, which are known to be JSON.
    Params(&'a str),
    /// A body of HTTP+JSON, which may not be JSON.
    Body(&'a [u8]),
}

impl<'a> Source<'a> {
    fn read<T: Deserialize<'a>>(&self) -> Result<T, Error> {
        match self {
            Self::Params(params) => json::params(params),
            Self::Body(body) => json::body(body),
        }
    }

    fn text(&self) -> Result<&'a str, Error> {
        match self {
            Self::Params(params) => Ok(params),
            Self::Body(body) => json::text(body),
        }
    }
}

/// Reads a call without checking it.
pub(super) fn read(method: Method, from: &Source<'_>) -> Result<Call, Error> {
    Ok(match method {
        Method::SendMessage => Call::SendMessage(from.read()?),
        Method::SendStreamingMessage => Call::SendStreamingMessage(from.read()?),
        Method::GetTask => Call::GetTask(from.read()?),
        Method::ListTasks => Call::ListTasks(from.read()?),
        Method::CancelTask => Call::CancelTask(from.read()?),
        Method::SubscribeToTask => Call::SubscribeToTask(from.read()?),
        Method::CreateTaskPushNotificationConfig => Call::CreateTaskPushNotificationConfig(match from.read()? {
            config @ TaskPushNotificationConfig { .. } if config.url.is_empty() => {
                aliases::unwrap_config(config, from.text()?)?
            }
            config => config,
        }),
        Method::GetTaskPushNotificationConfig => Call::GetTaskPushNotificationConfig(from.read()?),
        Method::ListTaskPushNotificationConfigs => Call::ListTaskPushNotificationConfigs(from.read()?),
        Method::DeleteTaskPushNotificationConfig => Call::DeleteTaskPushNotificationConfig(from.read()?),
        Method::GetExtendedAgentCard => Call::GetExtendedAgentCard(from.read()?),
    })
}

/// Writes the params of a call.
pub(super) fn write(call: &Call) -> Box<RawValue> {
    match call {
        Call::SendMessage(request) => json::raw(request),
        Call::SendStreamingMessage(request) => json::raw(request),
        Call::GetTask(request) => json::raw(request),
        Call::ListTasks(request) => json::raw(request),
        Call::CancelTask(request) => json::raw(request),
        Call::SubscribeToTask(request) => json::raw(request),
        Call::CreateTaskPushNotificationConfig(request) => json::raw(request),
        Call::GetTaskPushNotificationConfig(request) => json::raw(request),
        Call::ListTaskPushNotificationConfigs(request) => json::raw(request),
        Call::DeleteTaskPushNotificationConfig(request) => json::raw(request),
        Call::GetExtendedAgentCard(request) => json::raw(request),
    }
}
