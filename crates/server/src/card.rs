//! The agent's card for clients: with the addresses of this server and its security schemes (sections 8.2 to 8.6).

mod address;
mod document;
mod forwarded;
mod listing;

use std::{sync::Arc, time::Duration};

pub(crate) use address::{BaseUrl, UrlPrefix};
pub use address::{PublicUrl, PublicUrlError};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode, Uri,
    header::{CACHE_CONTROL, CONTENT_TYPE},
    request::Parts,
};
use jiff::Timestamp;
pub(crate) use listing::{GrpcPlace, Listing};
pub use listing::{GrpcUrl, GrpcUrlError};
use nuncio_auth::Declaration;
use nuncio_model::{
    AgentCard, Backend, Error, ErrorKind, Principal, Struct, card::SecurityRequirement, json::members_nest_within,
    resume,
};
use nuncio_wire::{Versions, card};

use crate::{body::Body, error::BindError};
use document::{Document, Documents, Validators};

/// The path of the card (section 8.2).
pub(crate) const PATH: &str = "/.well-known/agent-card.json";

/// The path of the card before version 0.3.
pub(crate) const LEGACY_PATH: &str = "/.well-known/agent.json";

/// Refuses a card if the params of an extension nest deeper than `levels`.
pub(crate) fn check(card: &AgentCard, levels: usize) -> Result<(), BindError> {
    let is_deep = |params: &Struct| !members_nest_within(params, levels);
    match card.capabilities.extensions.iter().find(|it| it.params.as_deref().is_some_and(is_deep)) {
        Some(extension) => Err(BindError::Card { extension: extension.uri.as_str().into(), levels }),
        None => Ok(()),
    }
}

/// Whether a card requires credentials, for the agent or for a skill.
pub(crate) fn asks(card: &AgentCard) -> bool {
    let asks = |requirements: &[SecurityRequirement]| {
        !requirements.is_empty() && requirements.iter().all(|one| !one.schemes.is_empty())
    };
    asks(&card.security_requirements) || card.skills.iter().any(|skill| asks(&skill.security_requirements))
}

/// The cards of an agent, and the data that completes the cards.
#[derive(Debug)]
pub(crate) struct Cards {
    public: Arc<AgentCard>,
    /// The addresses of the server, with the path of the agent.
    base_url: BaseUrl,
    listing: Listing,
    versions: Versions,
    authentication: Declaration,
    /// Whether the server never authenticates callers.
    is_open: bool,
    /// Whether the agent resumes streams.
    resumes: bool,
    documents: Documents,
    legacy: Documents,
    max_age: Duration,
}

impl Cards {
    pub(crate) fn new(
        backend: &dyn Backend,
        base_url: BaseUrl,
        listing: Listing,
        versions: &Versions,
        authentication: Declaration,
        is_open: bool,
        max_age: Duration,
    ) -> Self {
        let (public, resumes) = (backend.card(), backend.resumes());
        let documents = || Documents::new(max_age, base_url.trusts_forwarded());
        let (documents, legacy) = (documents(), documents());
        let versions = versions.clone();
        Self { public, base_url, listing, versions, authentication, is_open, resumes, documents, legacy, max_age }
    }

    /// The address of the agent, as the sender of a request with this head sees the address.
    pub(crate) fn for_request(&self, uri: &Uri, headers: &HeaderMap) -> UrlPrefix {
        self.base_url.for_request(uri, headers)
    }

    /// Whether the card declares resumable streams. The server does not change a signed card.
    pub(crate) fn resume(&self) -> bool {
        let is_ours = self.public.signatures.is_empty();
        self.resumes && self.public.capabilities.streams() && (is_ours || resume::is_declared(&self.public))
    }

    /// Refuses the extended card to callers without authentication, and to all callers of an open server (section
    /// 3.1.11). If the card does not declare an extended card, the engine refuses the call.
    pub(crate) fn check_extended(&self, principal: &Principal) -> Result<(), Error> {
        if !self.public.capabilities.extends_card() || principal.is_authenticated() {
            Ok(())
        } else if self.is_open {
            Err(Error::new(ErrorKind::UnsupportedOperation, "this agent has no extended card"))
        } else {
            Err(Error::new(ErrorKind::Unauthenticated, "the extended card is for authenticated callers"))
        }
    }

    /// The public card for the client of this request.
    pub(crate) fn public(&self, head: &Parts) -> AgentCard {
        self.complete(&self.public, head)
    }

    /// The extended card as a response over HTTP+JSON. Only its caller may cache the card (section 13.3). The caller
    /// can validate its copy.
    pub(crate) fn extended(&self, body: Bytes, content_type: HeaderValue, request: &HeaderMap) -> Response<Body> {
        let document = Document::new(body);
        let mut response = Response::new(Body::Empty);
        let headers = response.headers_mut();
        document.describe(headers);
        headers.insert(CONTENT_TYPE, content_type);
        let cache_control = format!("private, max-age={}", self.max_age.as_secs());
        headers.extend(cache_control.try_into().ok().map(|value| (CACHE_CONTROL, value)));
        respond_with(response, &document, request, self.documents.made())
    }

    /// The public card, for a page about the agent.
    pub(crate) fn public_at(&self, base: &UrlPrefix) -> AgentCard {
        self.complete_at(&self.public, base)
    }

    /// The card with the data of the server. Existing values of the card remain, and a signed card is not changed.
    pub(crate) fn complete(&self, card: &AgentCard, head: &Parts) -> AgentCard {
        self.complete_at(card, &self.base_url.for_request(&head.uri, &head.headers))
    }

    fn complete_at(&self, card: &AgentCard, base: &UrlPrefix) -> AgentCard {
        let mut card = card.clone();
        if !card.signatures.is_empty() {
            return card;
        }
        if card.supported_interfaces.is_empty() {
            card.supported_interfaces = self.listing.interfaces(&self.versions, base);
        }
        for (name, scheme) in &self.authentication.schemes {
            card.security_schemes.entry(name.clone()).or_insert_with(|| scheme.clone());
        }
        if card.security_requirements.is_empty() {
            card.security_requirements.clone_from(&self.authentication.requirements);
        }
        if self.resumes && card.capabilities.streams() && !resume::is_declared(&card) {
            card.capabilities.extensions.push(resume::declaration());
        }
        if self.is_open && card.capabilities.extends_card() {
            card.capabilities.extended_agent_card = Some(false);
        }
        card
    }

    /// Answers a request for the public card at [`PATH`] or [`LEGACY_PATH`]. `None` if the server speaks no version
    /// that uses the path.
    pub(crate) fn respond(&self, path: &str, head: &Parts) -> Option<Response<Body>> {
        if path == LEGACY_PATH {
            self.respond_from(&self.legacy, head, |card| card::encode_legacy(card, &self.versions))
        } else {
            self.respond_from(&self.documents, head, |card| Some(card::encode(card, &self.versions)))
        }
    }

    fn respond_from(
        &self,
        documents: &Documents,
        head: &Parts,
        encode: impl FnOnce(&AgentCard) -> Option<Vec<u8>>,
    ) -> Option<Response<Body>> {
        let base = self.base_url.for_request(&head.uri, &head.headers);
        let document = documents.of(&base, || encode(&self.complete_at(&self.public, &base)))?;
        let mut response = Response::new(Body::Empty);
        document.describe(response.headers_mut());
        documents.describe(response.headers_mut());
        Some(respond_with(response, &document, &head.headers, documents.made()))
    }
}

/// Puts a document into the response that describes the document, unless the client has the document already.
fn respond_with(
    mut response: Response<Body>,
    document: &Document,
    request: &HeaderMap,
    made: Timestamp,
) -> Response<Body> {
    if is_unchanged(request, document.validators(made)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(CONTENT_TYPE);
        response.headers_mut().remove(http::header::CONTENT_LENGTH);
    } else {
        *response.body_mut() = Body::full(document.body());
    }
    response
}

/// Whether the client has this card already. The tag has precedence over the time (RFC 9110, section 13.2.2).
fn is_unchanged(headers: &HeaderMap, validators: Validators<'_>) -> bool {
    if headers.contains_key(http::header::IF_NONE_MATCH) {
        return headers.get_all(http::header::IF_NONE_MATCH).iter().any(|tags| validators.matches(tags));
    }
    headers.get(http::header::IF_MODIFIED_SINCE).is_some_and(|since| validators.is_unmodified_since(since))
}
