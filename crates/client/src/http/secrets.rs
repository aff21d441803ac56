//! The credentials of a client, and the origins that get the credentials.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_auth::{
    Credential,
    credentials::{Credentials, Origin},
};
use nuncio_http::redact::Redactor;
use nuncio_model::AgentCard;
use secrecy::ExposeSecret as _;
use url::Url;

use crate::{error::ClientError, failure::Failure};

/// The credentials and additional headers of a client with their allowed origins, and the redaction of logs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets {
    credentials: Option<Credentials>,
    headers: HeaderMap,
    card: Option<Arc<AgentCard>>,
    redactor: Redactor,
}

impl Secrets {
    /// These credentials and headers, for these origins. Without an origin no request gets the credentials.
    pub(crate) fn new(credentials: &[Credential], headers: &HeaderMap, origins: &[Origin]) -> Self {
        let mut redactor = Redactor::default();
        for credential in credentials {
            if let Credential::Bearer(secret) | Credential::ApiKey(secret) = credential {
                redactor.add(secret.expose_secret());
            }
        }
        for value in headers.values() {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            // The scheme in `Bearer abc` is not a secret.
            if let Some((_, secret)) = value.split_once(' ') {
                redactor.add(secret.trim());
            }
            redactor.add(value);
        }
        let bound = origins.split_first().map(|(first, rest)| {
            let bound = credentials.iter().cloned().fold(Credentials::new(first.clone()), Credentials::with);
            rest.iter().cloned().fold(bound, Credentials::with_origin)
        });
        Self { credentials: bound, headers: headers.clone(), card: None, redactor }
    }

    /// Uses the places that this card declares.
    pub(crate) fn with_card(mut self, card: Option<Arc<AgentCard>>) -> Self {
        self.card = card;
        self
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Whether the client has no credentials and no headers.
    pub(crate) fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.credentials.as_ref().is_none_or(Credentials::is_empty)
    }

    /// Whether the client has credentials or headers that this address does not get.
    pub(crate) fn is_withheld_from(&self, url: &Url) -> bool {
        !self.is_empty() && !self.allows(url)
    }

    fn allows(&self, url: &Url) -> bool {
        self.credentials.as_ref().is_some_and(|credentials| credentials.allows(url.as_str()))
    }

    /// Adds the allowed credentials to a request for this address. gRPC has only metadata, so a key of the query
    /// becomes a header.
    pub(crate) fn place(&self, url: &mut Url, to: &mut HeaderMap, grpc: bool) -> Result<(), ClientError> {
        let Some(credentials) = self.credentials.as_ref().filter(|_| self.allows(url)) else { return Ok(()) };
        let placement = credentials.place(url.as_str(), self.card.as_deref()).map_err(Failure::Credentials)?;
        if grpc {
            let mut query = String::new();
            placement.extend_query(&mut query);
            for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
                let (name, value) = header(&name, &value)?;
                to.insert(name, value);
            }
        } else {
            let mut query = url.query().unwrap_or_default().to_owned();
            placement.extend_query(&mut query);
            url.set_query(Some(&query).filter(|query| !query.is_empty()).map(String::as_str));
        }
        for headers in [placement.headers(), &self.headers] {
            for (name, value) in headers {
                to.insert(name.clone(), value.clone());
            }
        }
        Ok(())
    }
}

/// Parses an additional header of the user and marks the value as secret.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ClientError> {
    let invalid = |what: &str| ClientError::Setup(format!("`{name}` cannot be sent: its {what} is not valid"));
    let header = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| invalid("name"))?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|_| invalid("value"))?;
    value.set_sensitive(true);
    Ok((header, value))
}
