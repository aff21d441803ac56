//! The operation of an HTTP+JSON path, or the reason why the path has no operation.

use std::fmt;

use nuncio_model::{Error, ErrorKind, Method, PushConfigId, TaskId, Tenant};

/// The operation of a path, with the ids in the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    /// The operation.
    pub method: Method,
    /// The tenant at the beginning of the path, if any.
    pub tenant: Option<Tenant>,
    /// The task in the path.
    pub task_id: Option<TaskId>,
    /// The push notification configuration in the path.
    pub config_id: Option<PushConfigId>,
}

/// The reason why a request has no operation.
#[derive(Debug, Clone)]
pub enum RouteError {
    /// The path does not exist: 404.
    NotFound,
    /// The path has other verbs: 405.
    MethodNotAllowed {
        /// The verbs, in the form of the `Allow` header.
        allow: &'static str,
        /// The tenant in front of the path, where there is one.
        tenant: Option<Tenant>,
    },
    /// The version is not spoken here. The error lists the spoken versions.
    Version(Error),
}

impl RouteError {
    /// The path takes these verbs.
    pub const fn method_not_allowed(allow: &'static str) -> Self {
        Self::MethodNotAllowed { allow, tenant: None }
    }

    /// The same of a path with a tenant in front.
    pub(crate) fn of_tenant(self, of: &str) -> Self {
        match self {
            Self::MethodNotAllowed { allow, .. } => Self::MethodNotAllowed { allow, tenant: Some(Tenant::from(of)) },
            other => other,
        }
    }

    /// The HTTP status. For a wrong verb, the status differs from the status of the error's kind.
    pub fn status(&self) -> http::StatusCode {
        match self {
            Self::NotFound => http::StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => http::StatusCode::METHOD_NOT_ALLOWED,
            Self::Version(_) => http::StatusCode::BAD_REQUEST,
        }
    }

    /// The value of the `Allow` header, if the verb was wrong.
    pub fn allow(&self) -> Option<&'static str> {
        match self {
            Self::MethodNotAllowed { allow, .. } => Some(allow),
            _ => None,
        }
    }

    /// The error for the peer.
    pub fn to_error(&self) -> Error {
        match self {
            Self::NotFound => Error::new(ErrorKind::MethodNotFound, "there is nothing at this path"),
            Self::MethodNotAllowed { allow, .. } => {
                Error::new(ErrorKind::MethodNotFound, format!("this path takes {allow}"))
            }
            Self::Version(error) => error.clone(),
        }
    }

    /// The more specific of two errors.
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
