//! Errors of the protocol: the kinds, and the information for the peer (section 3.3.2).

mod causes;

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use std::collections::BTreeMap;

pub use causes::{causes, with_causes, write_causes};

use crate::json::Value;

/// The kind of an error, by the names of sections 3.3.2 and 5.4. `nuncio-wire` has the table of codes for all bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's scope has no such task.
    TaskNotFound,
    /// The task is terminal.
    TaskNotCancelable,
    /// The agent does not support push notifications.
    PushNotificationNotSupported,
    /// The operation, or this use of the operation, is not supported: a message to a terminal task, for example.
    UnsupportedOperation,
    /// The agent does not accept the media type, or cannot produce it.
    ContentTypeNotSupported,
    /// The agent sent something against the rules of the protocol.
    InvalidAgentResponse,
    /// The card declares an extended card, but none is configured.
    ExtendedAgentCardNotConfigured,
    /// The client did not declare an extension that the agent requires.
    ExtensionSupportRequired,
    /// The server does not support the version.
    VersionNotSupported,
    /// The body is not JSON, or not protobuf.
    Parse,
    /// The envelope of the request is invalid.
    InvalidRequest,
    /// No such method or path.
    MethodNotFound,
    /// A parameter is missing or invalid; the details name the parameter.
    InvalidParams,
    /// An internal fault of the server. The cause is in the log and not in the message.
    Internal,
    /// The credentials are missing or invalid.
    Unauthenticated,
    /// The caller lacks a permission.
    PermissionDenied,
    /// The request exceeds a size limit.
    PayloadTooLarge,
    /// The head of the request (address and headers) exceeds a size limit.
    HeadTooLarge,
    /// The request names a host for which this server is not responsible (RFC 9110, section 15.5.20).
    MisdirectedRequest,
    /// Too many requests, or too many resources at once.
    ResourceExhausted,
    /// Temporarily unavailable; the caller can try again.
    Unavailable,
    /// The operation exceeded its time limit.
    DeadlineExceeded,
}

impl ErrorKind {
    /// Whether the protocol defines the error (section 3.3.2), in contrast to JSON-RPC or HTTP.
    pub const fn is_a2a(self) -> bool {
        matches!(
            self,
            Self::TaskNotFound
                | Self::TaskNotCancelable
                | Self::PushNotificationNotSupported
                | Self::UnsupportedOperation
                | Self::ContentTypeNotSupported
                | Self::InvalidAgentResponse
                | Self::ExtendedAgentCardNotConfigured
                | Self::ExtensionSupportRequired
                | Self::VersionNotSupported
        )
    }
}

/// An invalid parameter, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldViolation {
    /// The path of the field in JSON names, for example `message.parts[0]`.
    pub field: String,
    /// The reason why the field is invalid.
    pub description: String,
}

/// A typed detail in addition to the message; `google.rpc` messages.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Detail {
    /// `google.rpc.ErrorInfo`.
    ErrorInfo {
        /// The error in `UPPER_SNAKE_CASE`.
        reason: String,
        /// The definer of the reason: `a2a-protocol.org`.
        domain: String,
        /// Facts, for example the task's id.
        metadata: BTreeMap<String, String>,
    },
    /// `google.rpc.BadRequest`.
    BadRequest(Vec<FieldViolation>),
    /// Any other detail, as JSON with its `@type`.
    Other(Value),
}

/// An error of the protocol: a kind, a message for the peer, details, and a cause for the log.
///
/// [`Display`](fmt::Display) is the message for the peer. The [`source`](StdError::source) is only for the log.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    violations: Vec<FieldViolation>,
    metadata: BTreeMap<String, String>,
    peer_details: Option<Vec<Detail>>,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind with this message for the peer.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            violations: Vec::new(),
            metadata: BTreeMap::new(),
            peer_details: None,
            retry_after: None,
            source: None,
        }))
    }

    /// The caller's scope has no task with this id.
    pub fn task_not_found(id: &str) -> Self {
        Self::new(ErrorKind::TaskNotFound, format!("task {id} was not found")).with_metadata("taskId", id)
    }

    /// One parameter is invalid.
    pub fn invalid_params(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::violations(vec![FieldViolation { field: field.into(), description: description.into() }])
    }

    /// Several parameters are invalid.
    pub fn violations(violations: Vec<FieldViolation>) -> Self {
        let mut error = Self::new(ErrorKind::InvalidParams, told(&violations));
        error.0.violations = violations;
        error
    }

    /// Names an invalid field, in addition to the message.
    pub fn with_violation(mut self, field: impl Into<String>, description: impl Into<String>) -> Self {
        self.0.violations.push(FieldViolation { field: field.into(), description: description.into() });
        self
    }

    /// Renames the invalid parameters, for another place or version of the protocol; `None` keeps a name.
    pub fn with_fields_named(mut self, name: impl Fn(&str) -> Option<String>) -> Self {
        let is_message = self.0.message == told(&self.0.violations);
        for violation in &mut self.0.violations {
            if let Some(name) = name(&violation.field) {
                violation.field = name;
            }
        }
        if is_message {
            self.0.message = told(&self.0.violations);
        }
        self
    }

    /// An internal fault of the server. The peer receives only the fact; the cause goes to the log.
    pub fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Internal, "internal error").with_source(source)
    }

    /// Adds a fact for the peer.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds the cause, for the log.
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Tells the peer when to try again.
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// The same error of another kind.
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Stores the details from a peer unchanged.
    pub fn with_peer_details(mut self, details: Vec<Detail>) -> Self {
        for detail in &details {
            match detail {
                Detail::BadRequest(violations) => self.0.violations.extend(violations.iter().cloned()),
                Detail::ErrorInfo { metadata, .. } => self.0.metadata.extend(metadata.clone()),
                Detail::Other(_) => {}
            }
        }
        self.0.peer_details = Some(details);
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message for the peer.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The invalid parameters.
    pub fn field_violations(&self) -> &[FieldViolation] {
        &self.0.violations
    }

    /// Facts for the peer.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// The details from a peer; `None` for an error of this side.
    pub fn peer_details(&self) -> Option<&[Detail]> {
        self.0.peer_details.as_deref()
    }

    /// The time until the next try, if known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// The text form: message, kind and causes. `fn main() -> Result<(), Error>` prints this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.0.message, self.0.kind)?;
        match self.source().map(with_causes) {
            Some(causes) if !self.0.message.contains(&causes) => write!(f, ": {causes}"),
            _ => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn StdError + 'static))
    }
}
/// The message for several invalid parameters.
fn told(violations: &[FieldViolation]) -> String {
    let mut message = String::new();
    for violation in violations {
        if !message.is_empty() {
            message.push_str("; ");
        }
        if !violation.field.is_empty() {
            message.push_str(&violation.field);
            message.push_str(": ");
        }
        message.push_str(&violation.description);
    }
    message
}
