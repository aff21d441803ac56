//! From a reference to a card (sections 8.2 and 8.6).

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

/// Finds and keeps the cards of agents.
///
/// A card is kept as long as its agent allows and asked for again by its `ETag` after that. Clones share what is kept.
#[derive(Debug, Clone)]
pub struct Resolver {
    http: Http,
    cache: Arc<Cache>,
}

/// A card, and where it is from.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The card.
    pub card: Arc<AgentCard>,
    /// The document, as it was served.
    pub document: Bytes,
    /// The URL that gave it; `None` for a file.
    pub url: Option<Url>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new(HttpSettings::default())
    }
}

impl Resolver {
    /// Keeps nothing yet.
    pub fn new(settings: HttpSettings) -> Self {
        Self { http: Http::new(settings), cache: Arc::default() }
    }

    /// Shares what is kept with all others in the process, unless what it finds is not to be trusted.
    pub(crate) fn shared(settings: HttpSettings) -> Self {
        static SHARED: LazyLock<Arc<Cache>> = LazyLock::new(Arc::default);
        let cache = if settings.insecure { Arc::default() } else { SHARED.clone() };
        Self { http: Http::new(settings), cache }
    }

    /// Finds the card of an agent. No credentials go along.
    ///
    /// # Errors
    ///
    /// `CardNotFound` with all that was tried, `CardInvalid`, or `Transport` where the host cannot be reached.
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

    /// The card at this very place, if there is one that can be used.
    pub(crate) async fn resolve_at(&self, url: &Url, secrets: &Secrets) -> Option<Resolved> {
        self.fetch(url, secrets).await.ok()
    }

    async fn fetch(&self, url: &Url, secrets: &Secrets) -> Result<Resolved, LookupError> {
        // What a card says to one caller is not for others.
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
            // What streams is no card, and has no end.
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
        // A page at the agent's own address is none of a card; where a card should be, it is a bad one.
        let body = body.filter(|body| card::is_json_object(body) || is_document(Path::new(url.path())));
        let Some(body) = body else { return Err(LookupError::Nothing("not a JSON object".into())) };
        // So is any JSON there that has none of a card's members.
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

/// Why one place gave no card.
enum LookupError {
    /// There is something else, or nothing.
    Nothing(String),
    /// Credentials are wanted.
    Locked(String),
    /// There is a card that cannot be used.
    Invalid(ClientError),
    /// The other places are not worth a try.
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
        return Err(ClientError::CardInvalid { at, reason: format!("it is over {}", Size::of(limit)), document: None });
    }
    let document = Bytes::from(document);
    let card = card::read(&at, &document)?;
    Ok(Resolved { card: Arc::new(card), document, url: None })
}
