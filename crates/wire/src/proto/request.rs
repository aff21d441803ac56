//! The tables of the requests, and the conversion from bytes to the call of each method.

use nuncio_model::{
    Call, Error, Method, TaskPushNotificationConfig, Validate,
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest,
        SendMessageConfiguration, SendMessageRequest, SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};

use super::{
    fault::Fault,
    message::{Message, decode, message, survey},
    reader::{Reader, Side, Tag},
};
use crate::json::every;

message! {
    SendMessageRequest {
        1 tenant: implicit,
        2 message: always,
        3 configuration: presence,
        4 metadata: presence,
    }

    SendMessageConfiguration {
        1 accepted_output_modes: repeated,
        2 task_push_notification_config: presence,
        3 history_length: presence,
        4 return_immediately: implicit,
    }

    GetTaskRequest {
        1 tenant: implicit,
        2 id: implicit,
        3 history_length: presence,
    }

    ListTasksRequest {
        1 tenant: implicit,
        2 context_id: implicit,
        3 status: implicit,
        4 page_size: presence,
        5 page_token: implicit,
        6 history_length: presence,
        7 status_timestamp_after: presence,
        8 include_artifacts: presence,
    }

    CancelTaskRequest {
        1 tenant: implicit,
        2 id: implicit,
        3 metadata: presence,
    }

    SubscribeToTaskRequest {
        1 tenant: implicit,
        2 id: implicit,
    }

    GetTaskPushNotificationConfigRequest {
        1 tenant: implicit,
        2 task_id: implicit,
        3 id: implicit,
    }

    ListTaskPushNotificationConfigsRequest {
        1 task_id: implicit,
        2 page_size: implicit,
        3 page_token: implicit,
        4 tenant: implicit,
    }

    DeleteTaskPushNotificationConfigRequest {
        1 tenant: implicit,
        2 task_id: implicit,
        3 id: implicit,
    }

    GetExtendedAgentCardRequest {
        1 tenant: implicit,
    }
}

impl Message for SendStreamingMessageRequest {
    fn write_fields(&self, to: &mut Vec<u8>) {
        self.0.write_fields(to);
    }

    fn read_field(&mut self, tag: Tag, from: &mut Reader<'_>) -> Result<(), Fault> {
        self.0.read_field(tag, from)
    }
}

macro_rules! calls {
    ($($method:ident($request:ty),)*) => {
        fn read_call(method: Method, bytes: &[u8]) -> Result<Call, Fault> {
            Ok(match method {
                $(Method::$method => Call::$method(decode::<$request>(bytes, Side::Request)?),)*
            })
        }

        /// A call as far as it can be read, and all that cannot be.
        fn survey_call(method: Method, bytes: &[u8]) -> (Call, Option<Fault>) {
            match method {
                $(Method::$method => {
                    let (request, fault) = survey::<$request>(bytes);
                    (Call::$method(request), fault)
                })*
            }
        }

        /// Appends the request message of a call.
        pub fn encode_call(call: &Call, to: &mut Vec<u8>) {
            match call {
                $(Call::$method(request) => request.write_fields(to),)*
            }
        }
    };
}

calls! {
    SendMessage(SendMessageRequest),
    SendStreamingMessage(SendStreamingMessageRequest),
    GetTask(GetTaskRequest),
    ListTasks(ListTasksRequest),
    CancelTask(CancelTaskRequest),
    SubscribeToTask(SubscribeToTaskRequest),
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

/// Reads and checks the request message of a call.
///
/// # Errors
///
/// `Parse` if the bytes are not protobuf. `InvalidParams`, which names the fields, if a required field is missing or a
/// value is not valid in the protocol.
pub fn decode_call(method: Method, bytes: &[u8]) -> Result<Call, Error> {
    let call = read_call(method, bytes).map_err(|fault| every_fault(fault, method, bytes))?;
    call.validate()?;
    Ok(call)
}

/// The error that names every field that is wrong.
#[cold]
fn every_fault(fault: Fault, method: Method, bytes: &[u8]) -> Error {
    match survey_call(method, bytes) {
        (call, Some(all)) if fault.is_invalid() && all.is_invalid() => {
            let mut incomplete = Vec::new();
            call.validate_at("", &mut incomplete);
            every::violations(all.into_violations(), incomplete)
        }
        _ => fault.into_request_error(),
    }
}
