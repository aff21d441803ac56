//! Credentials of a client: secrets, their places by the card, and their receivers (sections 7.3 and 3.1.11).

mod origin;
mod placement;

use std::fmt;

use nuncio_model::{
    AgentCard,
    card::{SecurityRequirement, SecurityScheme},
};
pub use origin::{Origin, OriginError};
pub use placement::Placement;
use secrecy::SecretString;

/// A secret of a client. The `Debug` form does not show the secret.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Credential {
    /// A bearer token: for schemes of HTTP `Bearer`, OAuth 2.0 and OpenID Connect.
    Bearer(SecretString),
    /// An API key: for `apiKey` schemes, in a header, the query or a cookie, as the card says.
    ApiKey(SecretString),
}

impl Credential {
    /// A bearer token.
    pub fn bearer(token: impl Into<String>) -> Self {
        Self::Bearer(SecretString::from(token.into()))
    }

    /// An API key.
    pub fn api_key(key: impl Into<String>) -> Self {
        Self::ApiKey(SecretString::from(key.into()))
    }

    fn suits(&self, scheme: &SecurityScheme) -> bool {
        match (self, scheme) {
            (Self::Bearer(_), SecurityScheme::HttpAuth(http)) => http.scheme.eq_ignore_ascii_case("Bearer"),
            (Self::Bearer(_), SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_))
            | (Self::ApiKey(_), SecurityScheme::ApiKey(_)) => true,
            _ => false,
        }
    }
}

/// The secrets of a client, bound to the origins that can receive them.
///
/// Credentials are placed as the agent's card requires: the first requirement with a credential for each scheme is
/// used. If a card declares no requirements, a bearer token is sent in `Authorization` and a key in `X-API-Key`.
#[derive(Clone, Default)]
pub struct Credentials {
    held: Vec<Credential>,
    origins: Vec<Origin>,
}

/// The reason why credentials cannot be placed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The card requires schemes without a matching credential.
    #[error("the agent requires credentials for {}; no configured credential matches", .0.join(" or "))]
    NoMatch(Vec<String>),
    /// A secret has characters that are not allowed at its place.
    #[error("a credential has characters that are not allowed in {0}")]
    BadSecret(&'static str),
    /// The scheme of the card has an invalid location for the key.
    #[error("the agent requires a key in `{0}`; only header, query and cookie are supported")]
    BadLocation(String),
    /// The card has an invalid name of a header, parameter or cookie.
    #[error("the agent requires a key named `{0}`, which is not a valid name")]
    BadName(String),
}

nuncio_model::debug_is_text!(CredentialError);

impl Credentials {
    /// No credentials, for this origin. The origin must be the agent's address given by the user, not an address from a
    /// card.
    pub fn new(origin: Origin) -> Self {
        Self { held: Vec::new(), origins: vec![origin] }
    }

    /// Adds a credential.
    pub fn with(mut self, credential: Credential) -> Self {
        self.held.push(credential);
        self
    }

    /// Adds another origin that can receive the credentials.
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Whether there is no credential.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether this address can receive the credentials.
    pub fn allows(&self, address: &str) -> bool {
        Origin::parse(address).is_ok_and(|origin| self.origins.contains(&origin))
    }

    /// The additions to a request to this address of the agent with this card; nothing if the address must not receive
    /// credentials.
    ///
    /// # Errors
    ///
    /// `NoMatch` if the card requires other kinds of credentials; another error if the card's requirement cannot be
    /// satisfied.
    pub fn place(&self, address: &str, card: Option<&AgentCard>) -> Result<Placement, CredentialError> {
        let mut placement = Placement::default();
        if !self.allows(address) {
            return Ok(placement);
        }
        match card {
            Some(card) if !card.security_requirements.is_empty() => self.meet(card, &mut placement)?,
            Some(card) if !card.security_schemes.is_empty() => {
                for credential in &self.held {
                    if let Some(scheme) = card.security_schemes.values().find(|scheme| credential.suits(scheme)) {
                        placement.add(credential, Some(scheme))?;
                    }
                }
            }
            _ => self.held.iter().try_for_each(|credential| placement.add(credential, None))?,
        }
        Ok(placement)
    }

    fn meet(&self, card: &AgentCard, placement: &mut Placement) -> Result<(), CredentialError> {
        let wanted = || card.security_requirements.iter().filter(|requirement| !requirement.schemes.is_empty());
        if let Some(pairs) = wanted().find_map(|requirement| self.pairs(requirement, card)) {
            return pairs.into_iter().try_for_each(|(credential, scheme)| placement.add(credential, Some(scheme)));
        }
        if self.is_empty() || wanted().count() < card.security_requirements.len() {
            return Ok(());
        }
        let names = |requirement: &SecurityRequirement| {
            requirement.schemes.keys().map(String::as_str).collect::<Vec<_>>().join(" with ")
        };
        Err(CredentialError::NoMatch(wanted().map(names).collect()))
    }

    /// A credential for each scheme of a requirement; `None` if a scheme has no credential.
    fn pairs<'a>(
        &'a self,
        requirement: &SecurityRequirement,
        card: &'a AgentCard,
    ) -> Option<Vec<(&'a Credential, &'a SecurityScheme)>> {
        let pair = |name: &String| {
            let scheme = card.security_schemes.get(name)?;
            Some((self.held.iter().find(|credential| credential.suits(scheme))?, scheme))
        };
        requirement.schemes.keys().map(pair).collect()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("held", &self.held.len()).field("origins", &self.origins).finish()
    }
}

#[cfg(test)]
mod tests;
