//! The placement of credentials in a request.

use std::fmt;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE},
};
use nuncio_model::card::{APIKeySecurityScheme, SecurityScheme};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};

use super::{Credential, CredentialError};
use crate::tokens::API_KEY_HEADER;

/// The additions of credentials to a request. The `Debug` form shows only names.
#[derive(Clone, Default)]
pub struct Placement {
    headers: HeaderMap,
    query: Vec<(String, SecretString)>,
}

impl Placement {
    /// The headers, marked as sensitive. Over gRPC the headers are the metadata of the call.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Adds the parameters to a query: `query` is the text after `?` in a URL, or empty.
    pub fn extend_query(&self, query: &mut String) {
        for (name, value) in &self.query {
            if !query.is_empty() {
                query.push('&');
            }
            query.extend(utf8_percent_encode(name, NON_ALPHANUMERIC));
            query.push('=');
            query.extend(utf8_percent_encode(value.expose_secret(), NON_ALPHANUMERIC));
        }
    }

    /// Whether there are no additions.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.query.is_empty()
    }

    /// Adds a credential at the place of the scheme, or at the default place.
    pub(super) fn add(
        &mut self,
        credential: &Credential,
        scheme: Option<&SecurityScheme>,
    ) -> Result<(), CredentialError> {
        match (credential, scheme) {
            (Credential::Bearer(token), _) => {
                self.header(AUTHORIZATION, "Authorization", &format!("Bearer {}", token.expose_secret()))
            }
            (Credential::ApiKey(key), Some(SecurityScheme::ApiKey(scheme))) => self.key(key, scheme),
            (Credential::ApiKey(key), _) => {
                self.header(HeaderName::from_static("x-api-key"), API_KEY_HEADER, key.expose_secret())
            }
        }
    }

    fn key(&mut self, key: &SecretString, scheme: &APIKeySecurityScheme) -> Result<(), CredentialError> {
        let bad_name = || CredentialError::BadName(scheme.name.clone());
        match scheme.location.to_ascii_lowercase().as_str() {
            "header" => {
                let name = HeaderName::from_bytes(scheme.name.as_bytes()).map_err(|_| bad_name())?;
                self.header(name, "a header", key.expose_secret())
            }
            "query" if scheme.name.is_empty() => Err(bad_name()),
            "query" => {
                self.query.push((scheme.name.clone(), key.clone()));
                Ok(())
            }
            "cookie" => {
                HeaderName::from_bytes(scheme.name.as_bytes()).map_err(|_| bad_name())?;
                let key = key.expose_secret();
                if key.contains([';', ',', ' ', '"', '\\']) {
                    return Err(CredentialError::BadSecret("a cookie"));
                }
                let mut cookie = self
                    .headers
                    .remove(COOKIE)
                    .map_or_else(String::new, |value| format!("{}; ", String::from_utf8_lossy(value.as_bytes())));
                cookie.push_str(&scheme.name);
                cookie.push('=');
                cookie.push_str(key);
                self.header(COOKIE, "a cookie", &cookie)
            }
            _ => Err(CredentialError::BadLocation(scheme.location.clone())),
        }
    }

    fn header(&mut self, name: HeaderName, place: &'static str, value: &str) -> Result<(), CredentialError> {
        let mut value = HeaderValue::from_str(value).map_err(|_| CredentialError::BadSecret(place))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(())
    }
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query: Vec<_> = self.query.iter().map(|(name, _)| name).collect();
        f.debug_struct("Placement")
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("query", &query)
            .finish()
    }
}
