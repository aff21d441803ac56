//! JSON-RPC of 0.1, the only binding of 0.1.

use nuncio_model::{Call, Error, ErrorKind, Method, PushConfigId, Reply, StreamResponse, Task};
use serde_json::value::RawValue;

use super::{
    Oldest, V0_1, error,
    event::{EventIn, EventOut},
    message, params,
    push::OldestTaskConfig,
    task::{self, TaskOut},
};
use crate::{
    dialect::{Dialect, Events, JsonRpcDialect, no_list, sealed::Sealed, webhook, wrong_reply},
    json,
    shape::{In, Read, out},
};

#[derive(Debug)]
pub(super) struct OldestJsonRpc;

const METHODS: [(&str, Method); 7] = [
    ("tasks/send", Method::SendMessage),
    ("tasks/sendSubscribe", Method::SendStreamingMessage),
    ("tasks/get", Method::GetTask),
    ("tasks/cancel", Method::CancelTask),
    ("tasks/resubscribe", Method::SubscribeToTask),
    ("tasks/pushNotification/set", Method::CreateTaskPushNotificationConfig),
    ("tasks/pushNotification/get", Method::GetTaskPushNotificationConfig),
];

impl Sealed for OldestJsonRpc {}

impl Events for OldestJsonRpc {
    fn slot(&self) -> usize {
        3
    }

    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        json::write(&EventOut(event), to);
    }

    fn decode_event(&self, json: &[u8]) -> Result<StreamResponse, Error> {
        read::<EventIn>(json)?.into_event()
    }
}

impl JsonRpcDialect for OldestJsonRpc {
    fn dialect(&self) -> &'static dyn Dialect {
        &V0_1
    }

    fn envelope_is_optional(&self) -> bool {
        true
    }

    fn method(&self, name: &str) -> Option<Method> {
        METHODS.iter().find(|(known, _)| *known == name).map(|(_, method)| *method)
    }

    fn method_name(&self, method: Method) -> Option<&'static str> {
        METHODS.iter().find(|(_, known)| *known == method).map(|(name, _)| *name)
    }

    fn decode_call(&self, method: Method, params: Option<&RawValue>) -> Result<Call, Error> {
        json::every_param(params.map_or("{}", RawValue::get), |params| params::read(method, params))
    }

    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        webhook::field_name(method, field, "pushNotificationConfig", "pushNotification")
    }

    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error> {
        params::write(call).ok_or_else(|| lacks(call.method()))
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        use Method as M;
        match (method, reply) {
            (M::SendMessage | M::GetTask | M::CancelTask, Reply::Task(task)) => json::write(&TaskOut(task), to),
            (M::CreateTaskPushNotificationConfig | M::GetTaskPushNotificationConfig, Reply::PushConfig(config)) => {
                json::write(&out::<Oldest, _>(&OldestTaskConfig::from(&**config)), to);
            }
            (method, _) => return Err(wrong_reply(method)),
        }
        Ok(())
    }

    fn decode_reply(&self, method: Method, result: &[u8]) -> Result<Reply, Error> {
        match method {
            Method::SendMessage | Method::GetTask | Method::CancelTask => {
                let mut task: Task = read(result)?;
                if task.id.is_empty()
                    && method == Method::SendMessage
                    && let Some(message) = message::alone(result)
                {
                    return Ok(Reply::Message(Box::new(message)));
                }
                task::complete(&mut task);
                Ok(Reply::Task(task.into()))
            }
            Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
                let set = json::answer::<Option<In<Oldest, OldestTaskConfig>>>(result)?;
                let OldestTaskConfig { id, config } = set.map(|set| set.0).unwrap_or_default();
                let mut config = config.unwrap_or_default();
                // A task has one configuration, so the configuration has the id of the task.
                config.id = Some(PushConfigId::from(id.as_str())).filter(|id| !id.is_empty());
                config.task_id = Some(id).filter(|id| !id.is_empty());
                Ok(Reply::PushConfig(Box::new(config)))
            }
            method => Err(lacks(method)),
        }
    }

    fn encode_error(&self, error: &Error, to: &mut Vec<u8>) {
        error::write(error, to);
    }

    fn kind_of_code(&self, code: i64) -> Option<ErrorKind> {
        error::kind(code)
    }
}

/// Reads the answer of a peer.
fn read<T: Read<Oldest>>(json: &[u8]) -> Result<T, Error> {
    json::answer::<In<Oldest, T>>(json).map(|value| value.0)
}

fn lacks(method: Method) -> Error {
    match method {
        Method::ListTasks => no_list(),
        method => Error::new(ErrorKind::UnsupportedOperation, format!("version 0.1 has no {}", method.name())),
    }
}
