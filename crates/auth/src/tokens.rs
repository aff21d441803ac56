//! Identification by a shared secret: a bearer token or an API key (sections 4.5.3 and 4.5.4).

mod hash;
mod presented;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use hash::Hash;
use http::{HeaderValue, request::Parts};
use nuncio_model::{
    Principal,
    card::{APIKeySecurityScheme, HTTPAuthSecurityScheme, SecurityRequirement, SecurityScheme},
};
pub use presented::API_KEY_HEADER;

use crate::{
    authenticator::{Authenticator, Declaration},
    error::AuthError,
};

const BEARER_SCHEME: &str = "bearer";
const API_KEY_SCHEME: &str = "apiKey";

/// Callers by name, each with one or more secrets.
///
/// A secret is valid as `Authorization: Bearer <secret>` and as `X-API-Key: <secret>`. Only the SHA-256 of a secret is
/// stored. The comparison takes the same time for all secrets. Several entries with one name are one caller, so that a
/// secret can be replaced without downtime.
///
/// A caller without credentials gets 401, unless [`with_anonymous`](Self::with_anonymous) accepts such callers. Wrong
/// credentials always result in 401.
///
/// ```
/// use nuncio_auth::Tokens;
///
/// let tokens = Tokens::new().with("alice", "correct horse battery")?.with_entry("bob=staple=")?;
/// assert_eq!(format!("{tokens:?}"), r#"Tokens { callers: ["alice", "bob"], anonymous: false }"#);
/// # Ok::<(), nuncio_auth::TokenError>(())
/// ```
#[derive(Clone, Default)]
pub struct Tokens {
    entries: Vec<Entry>,
    anonymous: bool,
}

#[derive(Clone)]
struct Entry {
    name: Arc<str>,
    hash: Hash,
}

/// The reason why a token cannot be configured. The text never contains the secret.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The entry has no `=` between name and secret.
    #[error("a token must have the form NAME=SECRET")]
    NoSeparator,
    /// The name is empty.
    #[error("a token requires a name before the `=`")]
    NoName,
    /// The secret is empty.
    #[error("the token of `{0}` is empty")]
    NoSecret(String),
    /// The secret has characters that a header cannot carry.
    #[error("the token of `{0}` has characters other than visible ASCII and spaces inside")]
    BadSecret(String),
    /// Two names have the same secret, so the callers cannot be distinguished.
    #[error("`{0}` and `{1}` have the same token; each caller needs its own token")]
    Shared(String, String),
}

nuncio_model::debug_is_text!(TokenError);

impl Tokens {
    /// No callers: every request is refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a caller, or another secret for an existing caller.
    ///
    /// # Errors
    ///
    /// If the name or the secret is invalid, or if another caller has the same secret.
    pub fn with(mut self, name: &str, secret: &str) -> Result<Self, TokenError> {
        if name.is_empty() {
            return Err(TokenError::NoName);
        }
        if secret.is_empty() {
            return Err(TokenError::NoSecret(name.to_owned()));
        }
        if !presented::can_carry(secret) {
            return Err(TokenError::BadSecret(name.to_owned()));
        }
        let hash = Hash::of(secret.as_bytes());
        if let Some(other) = self.entries.iter().find(|entry| entry.hash.equals(&hash) && *entry.name != *name) {
            return Err(TokenError::Shared(other.name.to_string(), name.to_owned()));
        }
        self.entries.push(Entry { name: name.into(), hash });
        Ok(self)
    }

    /// Adds a caller in the form `NAME=SECRET`; the secret can contain `=`.
    ///
    /// # Errors
    ///
    /// The errors of [`with`](Self::with), and an error if the entry has no `=`.
    pub fn with_entry(self, entry: &str) -> Result<Self, TokenError> {
        let (name, secret) = entry.split_once('=').ok_or(TokenError::NoSeparator)?;
        self.with(name, secret)
    }

    /// Whether callers without credentials are accepted, as [`Principal::Anonymous`]. These callers share one scope and
    /// cannot see the extended card.
    pub fn with_anonymous(mut self, anonymous: bool) -> Self {
        self.anonymous = anonymous;
        self
    }

    /// Whether there are no callers.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The caller of a secret. The search compares every entry, so that its time does not depend on the match.
    fn caller(&self, secret: &[u8]) -> Option<&Arc<str>> {
        let hash = Hash::of(secret);
        self.entries.iter().fold(None, |found, entry| if entry.hash.equals(&hash) { Some(&entry.name) } else { found })
    }
}

#[async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, parts: &Parts) -> Result<Principal, AuthError> {
        let mut caller = None;
        for secret in presented::secrets(&parts.headers) {
            let name = self.caller(secret?).ok_or(AuthError::Invalid)?;
            if caller.is_some_and(|caller| caller != name) {
                return Err(AuthError::Invalid);
            }
            caller = Some(name);
        }
        match caller {
            Some(name) => Ok(Principal::Named(Arc::clone(name))),
            None if self.anonymous => Ok(Principal::Anonymous),
            None => Err(AuthError::Missing),
        }
    }

    fn admits_strangers(&self) -> bool {
        self.anonymous
    }

    fn declaration(&self) -> Declaration {
        let bearer = HTTPAuthSecurityScheme { scheme: "Bearer".to_owned(), ..Default::default() };
        let api_key = APIKeySecurityScheme {
            location: "header".to_owned(),
            name: API_KEY_HEADER.to_owned(),
            ..Default::default()
        };
        let mut requirements =
            vec![SecurityRequirement::scheme(BEARER_SCHEME), SecurityRequirement::scheme(API_KEY_SCHEME)];
        if self.anonymous {
            requirements.push(SecurityRequirement::default());
        }
        Declaration {
            schemes: [
                (BEARER_SCHEME.to_owned(), SecurityScheme::HttpAuth(bearer)),
                (API_KEY_SCHEME.to_owned(), SecurityScheme::ApiKey(api_key)),
            ]
            .into(),
            requirements,
            challenge: Some(HeaderValue::from_static("Bearer realm=\"a2a\"")),
        }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let callers: Vec<_> = self.entries.iter().map(|entry| &entry.name).collect();
        f.debug_struct("Tokens").field("callers", &callers).field("anonymous", &self.anonymous).finish()
    }
}

#[cfg(test)]
mod tests;
