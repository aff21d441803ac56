//! What a path of HTTP+JSON means, or why it means nothing.

use std::fmt;

use nuncio_model::{Error, ErrorKind, Method, PushConfigId, TaskId, Tenant};

/// What a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    /// The operation.
    pub method: Method,
    /// The tenant in front of the path, where there is one.
    pub tenant: Option<Tenant>,
    /// The task in the path.
    pub task_id: Option<TaskId>,
    /// The push notification configuration in the path.
    pub config_id: Option<PushConfigId>,
}

/// Why a request has no operation.
#[derive(Debug, Clone)]
pub enum RouteError {
    /// There is no such path: 404.
    NotFound,
    /// The path takes other verbs: 405.
    MethodNotAllowed {
        /// Which ones, as the `Allow` header wants them.
        allow: &'static str,
    },
    /// The version is not spoken here: the error says which are.
    Version(Error),
}

impl RouteError {
    /// The status, which for a wrong verb is not that of the error's kind.
    pub fn status(&self) -> http::StatusCode {
        match self {
            Self::NotFound => http::StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => http::StatusCode::METHOD_NOT_ALLOWED,
            Self::Version(_) => http::StatusCode::BAD_REQUEST,
        }
    }

    /// The value of the `Allow` header, where the verb was wrong.
    pub fn allow(&self) -> Option<&'static str> {
        match self {
            Self::MethodNotAllowed { allow } => Some(allow),
            _ => None,
        }
    }

    /// The error for the peer.
    pub fn to_error(&self) -> Error {
        match self {
            Self::NotFound => Error::new(ErrorKind::MethodNotFound, "there is nothing at this path"),
            Self::MethodNotAllowed { allow } => {
                Error::new(ErrorKind::MethodNotFound, format!("this path takes {allow}"))
            }
            Self::Version(error) => error.clone(),
        }
    }

    /// The more telling of two.
    pub(crate) fn or(self, other: Self) -> Self {
        if matches!(self, Self::NotFound) { other } else { self }
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_error().fmt(f)
    }
}

impl std::error::Error for RouteError {}
