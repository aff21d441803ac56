//! The seam to callers' identities: what a server asks about the head of each request (section 7.4).

use std::collections::BTreeMap;

use async_trait::async_trait;
use http::{HeaderValue, request::Parts};
use nuncio_model::{
    Principal,
    card::{SecurityRequirement, SecurityScheme},
};

use crate::error::AuthError;

/// Knows callers by their requests.
///
/// A server asks once a request, on every binding alike, before it reads the body. Over gRPC the headers are the call's
/// metadata.
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Who sent a request with this head.
    ///
    /// # Errors
    ///
    /// `Missing` and `Invalid` become 401 with [`Declaration::challenge`], `Forbidden` 403, `Unavailable` 503, in the
    /// shape of the binding.
    async fn authenticate(&self, parts: &Parts) -> Result<Principal, AuthError>;

    /// What the agent's card says of it.
    fn declaration(&self) -> Declaration;

    /// Whether it lets everybody in without asking. A server then skips [`authenticate`](Self::authenticate), takes
    /// every caller for [`Principal::Open`], and refuses to listen where strangers can reach it.
    fn is_open(&self) -> bool {
        false
    }

    /// Whether callers without credentials are let in, all of them or beside others. A server protects such callers
    /// from pages in browsers, which can reach whatever the browser can reach.
    fn admits_strangers(&self) -> bool {
        self.is_open()
    }
}

/// What a card says about authentication (section 4.5), and what a refused caller is told.
#[derive(Debug, Clone, Default)]
pub struct Declaration {
    /// The schemes, by the names that the requirements use.
    pub schemes: BTreeMap<String, SecurityScheme>,
    /// One of these is needed; an empty one stands for callers without credentials.
    pub requirements: Vec<SecurityRequirement>,
    /// The value of `WWW-Authenticate` beside a 401.
    pub challenge: Option<HeaderValue>,
}

/// Asks nobody: every caller is [`Principal::Open`], and all share one scope.
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
