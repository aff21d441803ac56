//! The interface for the identification of callers: a server calls it with the head of each request (section 7.4).

use std::collections::BTreeMap;

use async_trait::async_trait;
use http::{HeaderValue, request::Parts};
use nuncio_model::{
    Principal,
    card::{SecurityRequirement, SecurityScheme},
};

use crate::error::AuthError;

/// Identifies callers by their requests.
///
/// A server calls the authenticator once for each request, on every binding, before the server reads the body. Over
/// gRPC the headers are the metadata of the call.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Identifies the caller of a request with this head.
    ///
    /// # Errors
    ///
    /// `Missing` and `Invalid` result in 401 with [`Declaration::challenge`], `Forbidden` in 403, `Unavailable` in 503,
    /// in the form of the binding.
    async fn authenticate(&self, parts: &Parts) -> Result<Principal, AuthError>;

    /// The declaration for the agent's card.
    fn declaration(&self) -> Declaration;

    /// Whether all callers are accepted without identification. A server then does not call
    /// [`authenticate`](Self::authenticate), uses [`Principal::Open`] for every caller, and refuses to listen on
    /// addresses that others can reach.
    fn is_open(&self) -> bool {
        false
    }

    /// Whether callers without credentials are accepted. A server protects such callers against web pages: a page in a
    /// browser can send requests to every address that the browser can reach.
    fn admits_strangers(&self) -> bool {
        self.is_open()
    }
}

/// The card's members about authentication (section 4.5), and the challenge for a refused caller.
#[derive(Debug, Clone, Default)]
pub struct Declaration {
    /// The schemes, by the names in the requirements.
    pub schemes: BTreeMap<String, SecurityScheme>,
    /// The alternatives: a caller must satisfy one. An empty requirement stands for callers without credentials.
    pub requirements: Vec<SecurityRequirement>,
    /// The value of `WWW-Authenticate` in an answer with status 401.
    pub challenge: Option<HeaderValue>,
}

/// No authentication: every caller is [`Principal::Open`], and all callers share one scope.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

#[async_trait]
impl Authenticator for Open {
    async fn authenticate(&self, _parts: &Parts) -> Result<Principal, AuthError> {
        Ok(Principal::Open)
    }

    fn declaration(&self) -> Declaration {
        Declaration::default()
    }

    fn is_open(&self) -> bool {
        true
    }
}
