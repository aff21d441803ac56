//! Why a caller was not let in (ERR-3, ERR-4).

use nuncio_model::{Error, ErrorKind};

/// Why a caller was not let in. The texts are for the peer, and tell apart no more than they must.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The request carries no credentials.
    #[error("credentials are required")]
    Missing,
    /// The credentials are wrong, expired, or of a scheme that is not taken here.
    #[error("the credentials were not accepted")]
    Invalid,
    /// The credentials are right and do not allow this.
    #[error("the caller may not do this")]
    Forbidden,
    /// Whoever knows the callers does not answer; trying again may help.
    #[error("callers cannot be authenticated at the moment")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

nuncio_model::debug_is_text!(AuthError);

impl AuthError {
    /// Whether the caller should be challenged for credentials, with status 401.
    pub const fn is_challenge(&self) -> bool {
        matches!(self, Self::Missing | Self::Invalid)
    }
}

/// What a peer is told.
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
