//! Finds the card of a reference (sections 8.2 and 8.6).

mod cache;
mod card;

use std::{
    path::Path,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use nuncio_model::{AgentCard, Size};
use nuncio_wire::{Version, negotiate::VERSION_HEADER};
use url::Url;

use crate::{
    error::{CardNotFound, ClientError},
    failure::Failure,
    http::{Http, Outbound, Secrets, origin_of, within},
    reference::{AgentRef, Place, is_document},
    settings::HttpSettings,
};
use cache::{Cache, CachedCard};

/// Finds and caches the cards of agents.
///
/// A card is cached for the time that its agent allows, and then validated by its `ETag`. Clones share the cache.
#[derive(Debug, Clone)]
pub struct Resolver {
    http: Http,
    cache: Arc<Cache>,
}

/// A card and its source.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The card.
    pub card: Arc<AgentCard>,
    /// The original document.
    pub document: Bytes,
    /// The URL of the card; `None` for a file.
    pub url: Option<Url>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(HttpSettings::default())
    }
}

impl Resolver {
    /// A resolver with an empty cache.
    pub fn new(settings: HttpSettings) -> Self {
        Self { http: Http::new(settings), cache: Arc::default() }
    }

    /// Shares the cache of the process. With `insecure` settings the resolver has its own cache, because its cards
    /// cannot be trusted.
    pub(crate) fn shared(settings: HttpSettings) -> Self {
        static SHARED: LazyLock<Arc<Cache>> = LazyLock::new(Arc::default);
        let cache = if settings.insecure { Arc::default() } else { SHARED.clone() };
        Self { http: Http::new(settings), cache }
    }

    /// Finds the card of an agent, without credentials.
    ///
    /// # Errors
    ///
    /// `CardNotFound` with all locations, `CardInvalid`, or `Transport` if the host cannot be reached.
    pub async fn resolve(&self, reference: &AgentRef) -> Result<Resolved, ClientError> {
        self.resolve_with(reference, &Secrets::default()).await
    }

    pub(crate) async fn resolve_with(&self, reference: &AgentRef, secrets: &Secrets) -> Result<Resolved, ClientError> {
        if let Place::File(path) = reference.place() {
            return read_file(path, self.http.settings().max_card).await;
        }
        let mut tried = Vec::new();
        let (mut invalid, mut wants_credentials) = (None, false);
        for url in reference.candidates() {
            match self.fetch(&url, secrets).await {
                Ok(resolved) => return Ok(resolved),
                Err(LookupError::Nothing(found)) => tried.push((url.to_string(), found)),
                Err(LookupError::Locked(found)) => {
                    wants_credentials = true;
                    tried.push((url.to_string(), found));
                }
                Err(LookupError::Invalid(error)) => {
                    tried.push((url.to_string(), "no valid card".into()));
                    invalid.get_or_insert(error);
                }
                Err(LookupError::Fatal(error)) => return Err(error),
            }
        }
        Err(invalid
            .unwrap_or_else(|| CardNotFound { reference: reference.to_string(), tried, wants_credentials }.into()))
    }

    /// The card at this location, if the location has a usable card.
    pub(crate) async fn resolve_at(&self, url: &Url, secrets: &Secrets) -> Option<Resolved> {
        self.fetch(url, secrets).await.ok()
    }

    async fn fetch(&self, url: &Url, secrets: &Secrets) -> Result<Resolved, LookupError> {
        // A card for one caller must not be used for other callers.
        let is_public = secrets.is_empty();
        let kept = if is_public { self.cache.get(url) } else { None };
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_fresh()) {
            return Ok(kept.resolved(url));
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, application/a2a+json"));
        if let Ok(name) = header::HeaderName::from_bytes(VERSION_HEADER.as_bytes()) {
            headers.insert(name, HeaderValue::from_static(Version::LATEST.as_str()));
        }
        if let Some(kept) = &kept {
            kept.make_conditional(&mut headers);
        }
        let (method, body) = (Method::GET, Bytes::new());
        let outbound =
            Outbound { method, url: url.clone(), headers, body, secrets, silence: None, stall: None, grpc: false };
        let limit = self.http.settings().max_card;
        let work = async {
            let answer = self.http.send(outbound).await?;
            let (status, headers) = (answer.status, answer.headers.clone());
            // An event stream is not a card, and does not end.
            let body = if status.is_success() && !answer.is("text/event-stream") {
                Some(answer.bytes(limit).await?)
            } else {
                None
            };
            Ok::<_, ClientError>((status, headers, body))
        };
        let answered = within(self.http.settings().timeouts.answer, &origin_of(url), work).await;
        let (status, headers, body) = answered.map_err(ClientError::from)??;
        if let Some(kept) = kept.filter(|_| status == StatusCode::NOT_MODIFIED) {
            return Ok(self.cache.refresh(url, kept, &headers).resolved(url));
        }
        if !status.is_success() {
            let reason = status.canonical_reason().unwrap_or_default().to_ascii_lowercase();
            let found = format!("{} {reason}", status.as_u16()).trim().to_owned();
            return Err(if status == StatusCode::UNAUTHORIZED {
                LookupError::Locked(found)
            } else {
                LookupError::Nothing(found)
            });
        }
        // At the agent's own address, a document that is not JSON is not a card, and the next location is tried. If the
        // URL ends in `.json`, the document must be a valid card.
        let body = body.filter(|body| card::is_json_object(body) || is_document(Path::new(url.path())));
        let Some(body) = body else { return Err(LookupError::Nothing("not a JSON object".into())) };
        // The same applies to JSON without a member of a card.
        if !is_document(Path::new(url.path())) && !card::resembles_card(&body) {
            return Err(LookupError::Nothing("JSON that is not a card".into()));
        }
        let card = Arc::new(card::read(url.as_str(), &body).map_err(LookupError::Invalid)?);
        let kept = CachedCard::new(card, body, &headers);
        if is_public {
            self.cache.keep(url, &kept, &headers);
        }
        Ok(kept.resolved(url))
    }
}

/// The reason why a location has no usable card.
enum LookupError {
    /// The location has no card.
    Nothing(String),
    /// The location requires credentials.
    Locked(String),
    /// The location has a card that cannot be used.
    Invalid(ClientError),
    /// The other locations would fail, too.
    Fatal(ClientError),
}

impl From<ClientError> for LookupError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Transport(failure @ (Failure::Redirected { .. } | Failure::TooLarge { .. })) => {
                Self::Nothing(failure.to_string())
            }
            error => Self::Fatal(error),
        }
    }
}

async fn read_file(path: &Path, limit: usize) -> Result<Resolved, ClientError> {
    let at = path.display().to_string();
    let not_found = |reason: String| {
        let (reference, tried) = (at.clone(), vec![(at.clone(), reason)]);
        ClientError::from(CardNotFound { reference, tried, wants_credentials: false })
    };
    let document = tokio::fs::read(path).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => not_found("there is no such file".to_owned()),
        _ => not_found(error.to_string()),
    })?;
    if document.len() > limit {
        return Err(ClientError::CardInvalid {
            at,
            reason: format!("the card is over the limit of {}", Size::of(limit)),
            document: None,
        });
    }
    let document = Bytes::from(document);
    let card = card::read(&at, &document)?;
    Ok(Resolved { card: Arc::new(card), document, url: None })
}
