//! The messages of `proto/lf/a2a/v1/a2a.proto` as protobuf bytes (section 10 "gRPC Protocol Binding"), for servers and
//! clients of gRPC.
//!
//! There are no generated types between the bytes and the model. Each message of the model has a table of its fields
//! (`message!`). The table writes the message and reads bytes directly into the message. A string of a request is
//! copied once, into its final place in the engine; a task of a reply is written from the shared copy. Tests compare
//! the tables with the `.proto` file, and the `.proto` file with the specification.
//!
//! The call, reply or event of a method is one message. [`frame`] puts messages into the body of an HTTP/2 stream.

mod card;
pub(crate) mod fault;
pub(crate) mod field;
pub mod frame;
pub mod health;
pub(crate) mod message;
pub mod metadata;
mod part;
pub(crate) mod reader;
pub mod reflection;
mod reply;
mod request;
mod scalar;
mod status;
mod task;
mod timestamp;
pub(crate) mod value;
pub(crate) mod writer;

use nuncio_model::Method;

pub use reply::{decode_event, decode_reply, encode_event, encode_reply};
pub use request::{decode_call, encode_call};
pub use status::{Status, decode_status, encode_status};

/// The full name of the service.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

macro_rules! paths {
    ($($method:ident)*) => {
        /// The path of a method, for example `/lf.a2a.v1.A2AService/GetTask`.
        pub const fn path(method: Method) -> &'static str {
            match method { $(Method::$method => concat!("/lf.a2a.v1.A2AService/", stringify!($method)),)* }
        }
    };
}

paths! {
    SendMessage SendStreamingMessage GetTask ListTasks CancelTask SubscribeToTask
    CreateTaskPushNotificationConfig GetTaskPushNotificationConfig ListTaskPushNotificationConfigs
    DeleteTaskPushNotificationConfig GetExtendedAgentCard
}

/// The method of a path.
pub fn method_of_path(path: &str) -> Option<Method> {
    Method::from_name(path.strip_prefix('/')?.strip_prefix(SERVICE)?.strip_prefix('/')?)
}
