//! Errors of the protocol: their kinds, and what a peer is told beside the kind (section 3.3.2).

mod causes;

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use std::collections::BTreeMap;

pub use causes::{with_causes, write_causes};

use crate::json::Value;

/// What went wrong, by the names of sections 3.3.2 and 5.4. `nuncio-wire` holds the one table of their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No such task in the caller's scope.
    TaskNotFound,
    /// The task has ended.
    TaskNotCancelable,
    /// The agent does not push.
    PushNotificationNotSupported,
    /// The operation, or this use of it, is not supported: a message to a task that has ended, for example.
    UnsupportedOperation,
    /// A media type that the agent does not take or cannot make.
    ContentTypeNotSupported,
    /// The agent said something that the protocol does not allow.
    InvalidAgentResponse,
    /// An extended card is declared and none is there.
    ExtendedAgentCardNotConfigured,
    /// The client did not declare an extension that the agent requires.
    ExtensionSupportRequired,
    /// The version is not spoken here.
    VersionNotSupported,
    /// The body is not JSON, or not protobuf.
    Parse,
    /// The envelope of the request is wrong.
    InvalidRequest,
    /// No such method or path.
    MethodNotFound,
    /// A parameter is missing or wrong; the details name it.
    InvalidParams,
    /// Our fault. The cause is in the log and not in the message.
    Internal,
    /// No credentials, or wrong ones.
    Unauthenticated,
    /// Not allowed.
    PermissionDenied,
    /// The request is over a limit of size.
    PayloadTooLarge,
    /// The head of the request, its address and its headers, is over a limit of size.
    HeadTooLarge,
    /// The request names a host that this server does not answer for (RFC 9110, section 15.5.20).
    MisdirectedRequest,
    /// Too many requests, or too much at once.
    ResourceExhausted,
    /// Not now; try again.
    Unavailable,
    /// It took too long.
    DeadlineExceeded,
}

impl ErrorKind {
    /// Whether the protocol defines the error (section 3.3.2), as against JSON-RPC or HTTP.
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

/// A parameter that is wrong, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldViolation {
    /// The path of the field in JSON names, `message.parts[0]` for example.
    pub field: String,
    /// What is wrong with it.
    pub description: String,
}

/// A typed detail beside the message; `google.rpc` messages.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Detail {
    /// `google.rpc.ErrorInfo`.
    ErrorInfo {
        /// The error in `UPPER_SNAKE_CASE`.
        reason: String,
        /// Who defines the reason: `a2a-protocol.org`.
        domain: String,
        /// Facts, for example the task's id.
        metadata: BTreeMap<String, String>,
    },
    /// `google.rpc.BadRequest`.
    BadRequest(Vec<FieldViolation>),
    /// Anything else, as JSON with its `@type`.
    Other(Value),
}

/// An error as the protocol knows it: a kind, a message for the peer, details, and a cause for the log.
///
/// [`Display`](fmt::Display) is what the peer is told. The [`source`](StdError::source) is for the log alone.
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
    /// An error of this kind that tells the peer this.
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

    /// No task of this id in the caller's scope.
    pub fn task_not_found(id: &str) -> Self {
        Self::new(ErrorKind::TaskNotFound, format!("task {id} was not found")).with_metadata("taskId", id)
    }

    /// A parameter is wrong.
    pub fn invalid_params(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::violations(vec![FieldViolation { field: field.into(), description: description.into() }])
    }

    /// Parameters are wrong.
    pub fn violations(violations: Vec<FieldViolation>) -> Self {
        let mut error = Self::new(ErrorKind::InvalidParams, told(&violations));
        error.0.violations = violations;
        error
    }

    /// Names a field that is wrong, beside what the message says of it.
    pub fn with_violation(mut self, field: impl Into<String>, description: impl Into<String>) -> Self {
        self.0.violations.push(FieldViolation { field: field.into(), description: description.into() });
        self
    }

    /// The error with wrong parameters named otherwise, as another place or version of the protocol names them; `None`
    /// leaves a name as it is.
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

    /// Our fault: the peer learns only that; the cause goes to the log.
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

    /// Says when to try again.
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// The same error of another kind.
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Keeps the details that a peer sent, as it sent them.
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

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the peer is told.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Which parameters are wrong.
    pub fn field_violations(&self) -> &[FieldViolation] {
        &self.0.violations
    }

    /// Facts for the peer.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// The details that a peer sent with the error; `None` for an error of our own.
    pub fn peer_details(&self) -> Option<&[Detail]> {
        self.0.peer_details.as_deref()
    }

    /// When to try again, where it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// The message, the kind, and the causes, as text: what `fn main() -> Result<(), Error>` prints.
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
/// Wrong parameters as one message.
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
