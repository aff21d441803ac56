//! The data model of Nuncio: the messages of A2A 1.0, the eleven operations, the errors and the scope.
//!
//! All other crates use these types: engines and stores keep them, agents create them, clients return them. Other
//! versions of the protocol exist only in `nuncio-wire`, which converts their bytes to this model and back. This crate
//! does no I/O, except in `Part::from_path`.
//!
//! The serde implementations are exactly ProtoJSON. Output has `camelCase` names. Input can have `camelCase` and
//! `snake_case` names, `null`, numeric and short forms of enums, both base64 alphabets and unknown members (see
//! [`json`]).

pub mod address;
pub mod backend;
pub mod card;
pub mod error;
pub mod event;
pub mod id;
pub mod json;
pub mod leniency;
pub mod op;
pub mod push;
pub mod resume;
#[cfg(feature = "schema")]
pub mod schema;
pub mod scope;
pub mod weight;

mod artifact;
mod context;
mod data;
mod message;
mod part;
mod parts;
mod size;
mod task;
mod timestamp;
mod validate;

pub use artifact::Artifact;
pub use backend::{Backend, Background, Health};
pub use card::AgentCard;
pub use context::Context;
pub use data::{Data, DataWriter, Mark};
pub use error::{Detail, Error, ErrorKind, FieldViolation};
pub use event::{EventStream, StreamEvent, StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
pub use id::{ArtifactId, ContextId, MessageId, PushConfigId, TaskId, Tenant};
pub use json::{Struct, Value};
pub use leniency::Leniency;
pub use message::{Message, Role};
pub use op::{Call, Caller, Calling, Method, NewTask, Operation, Reply, Request};
pub use part::{Part, PartContent, PartContentRef, PartRef, decode_base64};
pub use parts::Parts;
pub use push::{AuthenticationInfo, TaskPushNotificationConfig};
pub use scope::{Principal, Scope};
pub use size::Size;
pub use task::{Task, TaskState, TaskStatus};
pub use timestamp::Timestamp;
pub use validate::Validate;
