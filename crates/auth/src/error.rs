//! The reasons to refuse a caller (section 3.3.2, "Error Handling": authentication and authorization errors).

use nuncio_model::{Error, ErrorKind};

/// The reason to refuse a caller. The texts are for the peer and contain only the necessary information.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The request carries no credentials.
    #[error("credentials are required")]
    Missing,
    /// The credentials are wrong, expired, or of an unsupported scheme.
    #[error("the credentials were not accepted")]
    Invalid,
    /// The credentials are valid, but do not permit this request.
    #[error("the caller lacks the permission for this operation")]
    Forbidden,
    /// The source of identities does not answer; a later try can succeed.
    #[error("authentication is temporarily unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

nuncio_model::debug_is_text!(AuthError);

impl AuthError {
    /// Whether the answer is a challenge for credentials (status 401).
    pub const fn is_challenge(&self) -> bool {
        matches!(self, Self::Missing | Self::Invalid)
    }
}

/// The protocol error for the peer.
impl From<AuthError> for Error {
    fn from(error: AuthError) -> Self {
        let kind = match &error {
            AuthError::Missing | AuthError::Invalid => ErrorKind::Unauthenticated,
            AuthError::Forbidden => ErrorKind::PermissionDenied,
            AuthError::Unavailable(_) => ErrorKind::Unavailable,
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}
