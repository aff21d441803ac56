//! Failures between a client and an agent, below the protocol.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use nuncio_auth::credentials::CredentialError;
use nuncio_model::{Error, ErrorKind, Size};

/// The reason why a request got no readable answer.
///
/// The failure is the source of a model [`Error`], so that a transport has the same interface as an engine.
/// [`Failure::of`] returns the failure.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// No connection: the name does not resolve, no server listens, or the network is down. No data was sent.
    #[error("cannot connect to {origin}: {reason}")]
    Unreachable {
        /// The target.
        origin: String,
        /// The reason, for people.
        reason: String,
        /// The error of the system.
        #[source]
        source: Cause,
    },
    /// A connection without TLS: the certificate is not trusted, or the server does not speak TLS. No data was sent.
    #[error("no secure connection to {origin}: {reason}")]
    Tls {
        /// The target.
        origin: String,
        /// The reason, for people.
        reason: String,
        /// The error of the TLS library.
        #[source]
        source: Cause,
    },
    /// The answer, or the next byte of a stream, did not arrive in time.
    #[error("{origin} did not answer within {after:?}")]
    TimedOut {
        /// The peer.
        origin: String,
        /// The time limit.
        after: Duration,
    },
    /// The connection broke after the request was sent. The client does not know whether the peer received the request.
    #[error("the connection to {origin} broke: {reason}")]
    Broken {
        /// The peer.
        origin: String,
        /// The reason, for people.
        reason: String,
        /// The error of the system.
        #[source]
        source: Cause,
    },
    /// A stream ended without an error and without an event.
    #[error("{origin} answered with a stream that has no event")]
    Empty {
        /// The peer.
        origin: String,
    },
    /// An answer, or one event, is over the limit.
    #[error("an answer of {origin} is over the limit of {}", Size::of(*.limit))]
    TooLarge {
        /// The peer.
        origin: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// A redirect that the client does not follow.
    #[error("{origin} redirects to {to}, which is not followed: {reason}")]
    Redirected {
        /// The peer.
        origin: String,
        /// The target of the redirect.
        to: String,
        /// The reason.
        reason: &'static str,
    },
    /// The agent requires other credentials than the client has. No data was sent.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
}

/// The message. Its reason has the important part of the causes.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error that several owners can share.
#[derive(Clone)]
pub struct Cause(Arc<dyn StdError + Send + Sync>);

impl Cause {
    pub(crate) fn new(source: impl StdError + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

impl Failure {
    /// The failure behind an error; `None` if the error is the peer's answer.
    pub fn of(error: &Error) -> Option<&Self> {
        StdError::source(error)?.downcast_ref()
    }

    /// Whether no data was sent, so that the request may go to another address.
    pub const fn is_before_sending(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Tls { .. })
    }

    /// Whether the same request may succeed later.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Broken { .. } | Self::TimedOut { .. })
    }

    const fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable { .. } | Self::Tls { .. } | Self::Broken { .. } => ErrorKind::Unavailable,
            Self::TimedOut { .. } => ErrorKind::DeadlineExceeded,
            Self::Empty { .. } | Self::TooLarge { .. } | Self::Redirected { .. } => ErrorKind::InvalidAgentResponse,
            Self::Credentials(_) => ErrorKind::Unauthenticated,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::new(failure.kind(), failure.to_string()).with_source(failure)
    }
}

/// Whether a later attempt may succeed: the connection failed, or the peer reports a temporary error. Any other error
/// of a peer would occur again.
pub(crate) fn may_pass(error: &Error) -> bool {
    Failure::of(error).map_or_else(|| passes(error.kind()), Failure::is_transient)
}

/// Whether this error of a peer is temporary.
pub(crate) const fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unavailable | ErrorKind::ResourceExhausted | ErrorKind::DeadlineExceeded)
}

/// The original code of the peer's error in the binding. The code is the source of the peer's [`Error`], if the error
/// has a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerCode {
    /// The code of a JSON-RPC error.
    JsonRpc(i64),
    /// An HTTP status.
    Http(u16),
    /// The code of a gRPC status.
    Grpc(i32),
}

impl PeerCode {
    /// The code behind an error from a peer.
    pub fn of(error: &Error) -> Option<Self> {
        StdError::source(error)?.downcast_ref().copied()
    }

    /// The number of the code.
    pub fn number(self) -> i64 {
        match self {
            Self::JsonRpc(code) => code,
            Self::Http(status) => status.into(),
            Self::Grpc(code) => code.into(),
        }
    }
}

impl fmt::Display for PeerCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JsonRpc(code) => write!(f, "JSON-RPC error {code}"),
            Self::Http(status) => write!(f, "HTTP status {status}"),
            Self::Grpc(code) => write!(f, "gRPC status {code}"),
        }
    }
}

impl StdError for PeerCode {}
