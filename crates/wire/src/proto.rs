//! Protobuf: the messages of `proto/lf/a2a/v1/a2a.proto` as bytes (section 10), for servers and clients of gRPC.
//!
//! There are no generated types between the bytes and the model. Each message of the model has a table of its fields
//! (`message!`), and is written from it and read into it directly: a string of a request is copied once, into the place
//! where the engine keeps it, and a task of a reply is written from where it is shared. Tests hold the tables against
//! the `.proto` file, and that against the specification.
//!
//! A method's call, reply or event is one message; [`frame`] puts messages into the body of an HTTP/2 stream.

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
        /// The path of a method, `/lf.a2a.v1.A2AService/GetTask` for example.
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
