//! The eleven operations (section 3.1), one file each, and the call and reply types for all operations.
//!
//! A call has the same form at both ends, `Request -> Reply`. A local engine, a remote agent and a gateway are
//! therefore the same service.

mod cancel_task;
mod create_task_push_notification_config;
mod delete_task_push_notification_config;
mod get_extended_agent_card;
mod get_task;
mod get_task_push_notification_config;
mod list_task_push_notification_configs;
mod list_tasks;
mod send_message;
mod send_streaming_message;
mod subscribe_to_task;

use std::{pin::Pin, sync::Arc};

pub use cancel_task::CancelTaskRequest;
pub use delete_task_push_notification_config::DeleteTaskPushNotificationConfigRequest;
pub use get_extended_agent_card::GetExtendedAgentCardRequest;
pub use get_task::GetTaskRequest;
pub use get_task_push_notification_config::GetTaskPushNotificationConfigRequest;
pub use list_task_push_notification_configs::{
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
};
pub use list_tasks::{ListTasksRequest, ListTasksResponse};
pub use send_message::{SendMessageConfiguration, SendMessageRequest, SendMessageResponse};
pub use send_streaming_message::SendStreamingMessageRequest;
pub use subscribe_to_task::SubscribeToTaskRequest;

use crate::{
    card::AgentCard,
    context::Context,
    error::{Error, ErrorKind, FieldViolation},
    event::EventStream,
    id::{TaskId, Tenant},
    json::Struct,
    push::TaskPushNotificationConfig,
    scope::Scope,
    task::Task,
    validate::Validate,
};

/// An operation. The type of the request determines the operation and the output.
pub trait Operation: sealed::Sealed + Into<Call> + Validate {
    /// The result of a successful call.
    type Output: TryFrom<Reply, Error = Error>;

    /// The operation of this request type.
    const METHOD: Method;
}

mod sealed {
    pub trait Sealed {}
}

/// Connects the type of a request with its method, call and output.
macro_rules! operation {
    ($request:ty, $method:ident -> $output:ty) => {
        impl $crate::op::sealed::Sealed for $request {}

        impl $crate::op::Operation for $request {
            type Output = $output;
            const METHOD: $crate::op::Method = $crate::op::Method::$method;
        }

        impl From<$request> for $crate::op::Call {
            fn from(request: $request) -> Self {
                Self::$method(request)
            }
        }
    };
}
use operation;

/// Defines the operations with their calls, and the common name of each operation in all bindings.
macro_rules! methods {
    ($($(#[$meta:meta])* $method:ident($request:ty),)*) => {
        /// An operation of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$meta])* $method,)*
        }

        impl Method {
            /// All operations.
            pub const ALL: [Self; 11] = [$(Self::$method,)*];

            /// The name in version 1.0, for JSON-RPC methods and gRPC calls.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$method => stringify!($method),)* }
            }

            /// The operation with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $(stringify!($method) => Some(Self::$method),)* _ => None }
            }
        }

        /// A call of an operation.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call {
            $($(#[$meta])* $method($request),)*
        }

        impl Call {
            /// The operation of this call.
            pub const fn method(&self) -> Method {
                match self { $(Self::$method(_) => Method::$method,)* }
            }

            /// The tenant in the request.
            pub fn tenant(&self) -> Option<&Tenant> {
                match self { $(Self::$method(request) => request.tenant.as_ref(),)* }
            }

            /// Sets the tenant of the request.
            pub fn set_tenant(&mut self, tenant: Option<Tenant>) {
                match self { $(Self::$method(request) => request.tenant = tenant,)* }
            }
        }

        impl Validate for Call {
            fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
                match self { $(Self::$method(request) => request.validate_at(path, violations),)* }
            }
        }
    };
}

methods! {
    /// Sends a message and waits for the result (section 3.1.1).
    SendMessage(SendMessageRequest),
    /// Sends a message and streams the result (section 3.1.2).
    SendStreamingMessage(SendStreamingMessageRequest),
    /// Reads a task (section 3.1.3).
    GetTask(GetTaskRequest),
    /// Lists tasks, newest first (section 3.1.4).
    ListTasks(ListTasksRequest),
    /// Cancels a task (section 3.1.5).
    CancelTask(CancelTaskRequest),
    /// Streams an existing task (section 3.1.6).
    SubscribeToTask(SubscribeToTaskRequest),
    /// Registers a webhook (section 3.1.7).
    CreateTaskPushNotificationConfig(TaskPushNotificationConfig),
    /// Reads a webhook's configuration (section 3.1.8).
    GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest),
    /// Lists the webhooks of a task (section 3.1.9).
    ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest),
    /// Removes a webhook (section 3.1.10).
    DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest),
    /// Reads the card for authenticated callers (section 3.1.11).
    GetExtendedAgentCard(GetExtendedAgentCardRequest),
}

impl Method {
    /// Whether the answer is a stream.
    pub const fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }

    /// Whether a repeated call has no further effect (section 3.3.1).
    pub const fn is_idempotent(self) -> bool {
        !matches!(self, Self::SendMessage | Self::SendStreamingMessage | Self::CreateTaskPushNotificationConfig)
    }
}

/// A call with the facts that an agent needs beside the call.
#[derive(Debug, Clone)]
pub struct Request {
    /// The call.
    pub call: Call,
    /// The caller and the tenant.
    pub scope: Scope,
    /// URIs of the extensions that the client declared.
    pub extensions: Vec<Box<str>>,
    /// The sequence number of the last event that the client received, for a `SubscribeToTask` that resumes a stream.
    pub last_event: Option<u64>,
    /// The task to create for a message without a task, if the protocol version of the caller determines the task. If
    /// the task already exists, the message is added to the task.
    pub new_task: Option<Box<NewTask>>,
    /// The format of the notifications to webhooks that this call registers. The engine stores the value with each
    /// webhook, and only the sender of notifications interprets the value. `None` is the protocol's own format.
    pub push_format: Option<&'static str>,
    /// Facts that are no part of the protocol: deadline, trace, claims.
    pub context: Context,
}

/// The properties of a task that are determined before its creation.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// The id, which no other task of any caller can have.
    pub id: TaskId,
    /// The metadata.
    pub metadata: Option<Box<Struct>>,
    /// A task of the same caller; the new task starts with copies of that task's webhooks. A webhook whose id is the id
    /// of the old task gets the id of the new task.
    pub webhooks_of: Option<TaskId>,
}

/// A receiver of calls: an engine, a remote agent, a gateway.
pub trait Caller: Send + Sync {
    /// Makes a call.
    fn call(&self, request: Request) -> Calling<'_>;
}

impl<C: Caller + ?Sized> Caller for Arc<C> {
    fn call(&self, request: Request) -> Calling<'_> {
        (**self).call(request)
    }
}

/// The future of a call.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send + 'a>>;

impl Request {
    /// A call in this scope.
    pub fn new(scope: Scope, call: impl Into<Call>) -> Self {
        Self {
            call: call.into(),
            scope,
            extensions: Vec::new(),
            last_event: None,
            new_task: None,
            push_format: None,
            context: Context::default(),
        }
    }

    /// Whether the request resumes a stream, and the peer is known to send only the events after the last received
    /// event.
    pub fn is_resumption(&self) -> bool {
        self.last_event.is_some() && self.extensions.iter().any(|uri| **uri == *crate::resume::URI)
    }
}

/// The result of a successful call.
pub enum Reply {
    /// Of `SendMessage`: the task.
    Task(Arc<Task>),
    /// Of `SendMessage`: the agent's direct answer.
    Message(Box<crate::Message>),
    /// Of `SendStreamingMessage` and `SubscribeToTask`.
    Events(EventStream),
    /// Of `ListTasks`.
    Tasks(ListTasksResponse),
    /// Of `CreateTaskPushNotificationConfig` and `GetTaskPushNotificationConfig`.
    PushConfig(Box<TaskPushNotificationConfig>),
    /// Of `ListTaskPushNotificationConfigs`.
    PushConfigs(ListTaskPushNotificationConfigsResponse),
    /// Of `DeleteTaskPushNotificationConfig`.
    Deleted,
    /// Of `GetExtendedAgentCard`.
    Card(Arc<AgentCard>),
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Task(task) => f.debug_tuple("Task").field(task).finish(),
            Self::Message(message) => f.debug_tuple("Message").field(message).finish(),
            Self::Events(_) => f.write_str("Events(..)"),
            Self::Tasks(tasks) => f.debug_tuple("Tasks").field(tasks).finish(),
            Self::PushConfig(config) => f.debug_tuple("PushConfig").field(&config.id).finish(),
            Self::PushConfigs(configs) => f.debug_tuple("PushConfigs").field(&configs.configs.len()).finish(),
            Self::Deleted => f.write_str("Deleted"),
            Self::Card(card) => f.debug_tuple("Card").field(card).finish(),
        }
    }
}

/// Extracts the expected reply; the error says that the peer answered a different operation.
macro_rules! output {
    ($type:ty, $($pattern:pat => $value:expr),+) => {
        impl TryFrom<Reply> for $type {
            type Error = Error;
            fn try_from(reply: Reply) -> Result<Self, Error> {
                match reply {
                    $($pattern => Ok($value),)+
                    _ => Err(Error::new(ErrorKind::InvalidAgentResponse, "the answer does not have the type of the operation's result")),
                }
            }
        }
    };
}

output!(SendMessageResponse,
    Reply::Task(task) => Self::Task(Arc::unwrap_or_clone(task)),
    Reply::Message(message) => Self::Message(*message));
output!(Task, Reply::Task(task) => Arc::unwrap_or_clone(task));
output!(EventStream, Reply::Events(events) => events);
output!(ListTasksResponse, Reply::Tasks(tasks) => tasks);
output!(TaskPushNotificationConfig, Reply::PushConfig(config) => *config);
output!(ListTaskPushNotificationConfigsResponse, Reply::PushConfigs(configs) => configs);
output!((), Reply::Deleted => ());
output!(AgentCard, Reply::Card(card) => Arc::unwrap_or_clone(card));
