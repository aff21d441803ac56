//! What can go wrong between a client and an agent, below the protocol.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use nuncio_auth::credentials::CredentialError;
use nuncio_model::{Error, ErrorKind, Size};

/// Why a request got no answer that could be read.
///
/// It travels as the source of a model [`Error`], so that a transport is the same service as an engine; [`Failure::of`]
/// finds it again.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// No connection: the name does not resolve, nobody listens, the network is down. Nothing was sent.
    #[error("cannot connect to {origin}: {reason}")]
    Unreachable {
        /// Where to.
        origin: String,
        /// Why, for people.
        reason: String,
        /// What the system said.
        #[source]
        source: Cause,
    },
    /// A connection, but no TLS on it: a certificate that is not trusted, or no TLS at the other end. Nothing was sent.
    #[error("no secure connection to {origin}: {reason}")]
    Tls {
        /// Where to.
        origin: String,
        /// Why, for people.
        reason: String,
        /// What the TLS library said.
        #[source]
        source: Cause,
    },
    /// The answer, or the next byte of a stream, did not come in time.
    #[error("{origin} did not answer within {after:?}")]
    TimedOut {
        /// Who.
        origin: String,
        /// After how long the wait was given up.
        after: Duration,
    },
    /// The connection broke after the request was sent; whether it was heard is not known.
    #[error("the connection to {origin} broke: {reason}")]
    Broken {
        /// With whom.
        origin: String,
        /// Why, for people.
        reason: String,
        /// What the system said.
        #[source]
        source: Cause,
    },
    /// A stream ended, in order, before it told anything.
    #[error("{origin} answered with a stream that has no event")]
    Empty {
        /// Whose.
        origin: String,
    },
    /// An answer, or one event, is over the limit.
    #[error("an answer of {origin} is over the limit of {}", Size::of(*.limit))]
    TooLarge {
        /// Whose.
        origin: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// A redirect that is not followed.
    #[error("{origin} redirects to {to}, which is not followed: {reason}")]
    Redirected {
        /// Who redirects.
        origin: String,
        /// Where to.
        to: String,
        /// Why not.
        reason: &'static str,
    },
    /// The agent wants other credentials than those at hand. Nothing was sent.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
}

/// The message: its reason is what matters of the causes.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error that several owners can hold.
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
    /// The failure behind an error; `None` where the error is what the peer answered.
    pub fn of(error: &Error) -> Option<&Self> {
        StdError::source(error)?.downcast_ref()
    }

    /// Whether nothing was sent, so that the same request may go to another address.
    pub const fn is_before_sending(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Tls { .. })
    }

    /// Whether the same request may well be answered later.
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

/// Whether what failed may well work later: the way to the peer is cut, or the peer says that it cannot now. Any other
/// error of a peer's says what is wrong, and would say it again.
pub(crate) fn may_pass(error: &Error) -> bool {
    Failure::of(error).map_or_else(|| passes(error.kind()), Failure::is_transient)
}

/// Whether a peer that answers so may well do what it is asked for later.
pub(crate) const fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unavailable | ErrorKind::ResourceExhausted | ErrorKind::DeadlineExceeded)
}

/// The number that the peer gave its error in the binding at hand, as it came. The source of a peer's [`Error`], where
/// the peer gave one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerCode {
    /// Of a JSON-RPC error.
    JsonRpc(i64),
    /// An HTTP status.
    Http(u16),
    /// Of a gRPC status.
    Grpc(i32),
}

impl PeerCode {
    /// The code behind an error that a peer sent.
    pub fn of(error: &Error) -> Option<Self> {
        StdError::source(error)?.downcast_ref().copied()
    }

    /// The number alone.
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
