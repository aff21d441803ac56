//! gRPC of 0.2 and 0.3: the service of `proto/a2a/v1/a2a.proto`.

use std::sync::Arc;

use http::HeaderMap;
use nuncio_model::{Call, Error, Method, Reply, StreamResponse, Task, TaskPushNotificationConfig};

use super::{
    Family, files,
    proto::{card::AgentCard, push, reply, request, task},
};
use crate::{
    dialect::{Dialect, Events, FileBytes, GrpcDialect, sealed::Sealed, wrong_reply},
    proto::{
        fault::Fault,
        message::{Message, decode},
        metadata,
        reader::Side,
    },
};

/// The full name of the service.
const SERVICE: &str = "a2a.v1.A2AService";

#[derive(Debug)]
pub(super) struct OlderGrpc(pub(super) &'static Family);

impl Sealed for OlderGrpc {}

impl Events for OlderGrpc {
    fn slot(&self) -> usize {
        match self.0.files {
            FileBytes::Raw => 6,
            FileBytes::Base64 => 5,
        }
    }

    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        reply::StreamResponse::from(&*files::written(self.0.files, event)).write_fields(to);
    }

    fn decode_event(&self, bytes: &[u8]) -> Result<StreamResponse, Error> {
        let event: reply::StreamResponse = read(bytes)?;
        let event = event.into_event().map_err(|reason| Fault::invalid(reason).into_reply_error())?;
        Ok(files::read(self.0.files, event))
    }
}

macro_rules! paths {
    ($($method:ident $name:literal $(| $old:literal)*;)*) => {
        fn method_of(name: &str) -> Option<Method> {
            match name { $($name $(| $old)* => Some(Method::$method),)* _ => None }
        }

        const fn path_of(method: Method) -> Option<&'static str> {
            match method { $(Method::$method => Some(concat!("/a2a.v1.A2AService/", $name)),)* Method::ListTasks => None }
        }
    };
}

// The second names are those before 0.2.5.
paths! {
    SendMessage "SendMessage";
    SendStreamingMessage "SendStreamingMessage";
    GetTask "GetTask";
    CancelTask "CancelTask";
    SubscribeToTask "TaskSubscription";
    CreateTaskPushNotificationConfig "CreateTaskPushNotificationConfig" | "CreateTaskPushNotification";
    GetTaskPushNotificationConfig "GetTaskPushNotificationConfig" | "GetTaskPushNotification";
    ListTaskPushNotificationConfigs "ListTaskPushNotificationConfig" | "ListTaskPushNotification";
    DeleteTaskPushNotificationConfig "DeleteTaskPushNotificationConfig";
    GetExtendedAgentCard "GetAgentCard";
}

impl GrpcDialect for OlderGrpc {
    fn dialect(&self) -> &'static dyn Dialect {
        self.0
    }

    fn method(&self, path: &str) -> Option<Method> {
        method_of(path.strip_prefix('/')?.strip_prefix(SERVICE)?.strip_prefix('/')?)
    }

    fn path(&self, method: Method) -> Option<&'static str> {
        path_of(method)
    }

    fn falls_back_to_public_card(&self) -> bool {
        true
    }

    fn decode_call(&self, method: Method, message: &[u8]) -> Result<Call, Error> {
        let mut call = request::decode_call(method, message)?;
        self.0.habits.settle_history(&mut call);
        Ok(files::read(self.0.files, call))
    }

    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        request::field_name(method, field)
    }

    fn encode_call(&self, call: &Call, to: &mut Vec<u8>) -> Result<(), Error> {
        request::encode_call(&files::written(self.0.files, call), to)
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        use Method as M;
        let encoded = files::written_reply(self.0.files, reply);
        match (method, encoded.as_ref().unwrap_or(reply)) {
            (M::SendMessage, Reply::Task(task)) => reply::StreamResponse::from(&**task).write_fields(to),
            (M::SendMessage, Reply::Message(message)) => reply::StreamResponse::from(&**message).write_fields(to),
            (M::GetTask | M::CancelTask, Reply::Task(task)) => task::Task::from(&**task).write_fields(to),
            (M::CreateTaskPushNotificationConfig | M::GetTaskPushNotificationConfig, Reply::PushConfig(config)) => {
                push::TaskPushNotificationConfig::from(&**config).write_fields(to);
            }
            (M::ListTaskPushNotificationConfigs, Reply::PushConfigs(page)) => {
                reply::ListTaskPushNotificationConfigResponse::from(page).write_fields(to);
            }
            (M::DeleteTaskPushNotificationConfig, Reply::Deleted) => {}
            (M::GetExtendedAgentCard, Reply::Card(card)) => AgentCard::new(card, self.0.version)?.write_fields(to),
            (method, _) => return Err(wrong_reply(method)),
        }
        Ok(())
    }

    fn decode_reply(&self, method: Method, message: &[u8]) -> Result<Reply, Error> {
        Ok(match method {
            Method::SendMessage => match self.decode_event(message)? {
                StreamResponse::Task(task) => Reply::Task(Arc::new(task)),
                StreamResponse::Message(message) => Reply::Message(Box::new(message)),
                _ => return Err(Fault::invalid("needs one of task and message").into_reply_error()),
            },
            Method::GetTask | Method::CancelTask => {
                let task = Task::from(read::<task::Task>(message)?);
                Reply::Task(Arc::new(files::read(self.0.files, task)))
            }
            Method::CreateTaskPushNotificationConfig | Method::GetTaskPushNotificationConfig => {
                let config: push::TaskPushNotificationConfig = read(message)?;
                Reply::PushConfig(Box::new(TaskPushNotificationConfig::from(config)))
            }
            Method::ListTaskPushNotificationConfigs => {
                Reply::PushConfigs(read::<reply::ListTaskPushNotificationConfigResponse>(message)?.into())
            }
            Method::DeleteTaskPushNotificationConfig => Reply::Deleted,
            Method::GetExtendedAgentCard => Reply::Card(Arc::new(read::<AgentCard>(message)?.into_card()?)),
            Method::SendStreamingMessage | Method::SubscribeToTask | Method::ListTasks => {
                return Err(Error::internal(format!("{} has no reply in versions 0.2 and 0.3", method.name())));
            }
        })
    }

    fn write_error(&self, error: &Error, to: &mut HeaderMap) {
        metadata::write_named_error(error, to);
    }
}

fn read<M: Message>(bytes: &[u8]) -> Result<M, Error> {
    decode(bytes, Side::Reply).map_err(Fault::into_reply_error)
}
