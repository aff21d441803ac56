//! The cache of cards (section 8.6.2). The cache implements the parts of RFC 9111 that a reader of small documents
//! needs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, header};
use nuncio_model::AgentCard;
use url::Url;

use super::Resolved;

/// The largest number of cards. Beyond this number, stale cards are removed first, then any card.
const CAPACITY: usize = 256;

/// Cards by their URL.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<HashMap<Url, CachedCard>>);

/// A cached card.
#[derive(Debug, Clone)]
pub(super) struct CachedCard {
    card: Arc<AgentCard>,
    document: Bytes,
    fresh_until: Option<Instant>,
    etag: Option<header::HeaderValue>,
    last_modified: Option<header::HeaderValue>,
}

impl CachedCard {
    /// A card with the headers of its response.
    pub(super) fn new(card: Arc<AgentCard>, document: Bytes, headers: &HeaderMap) -> Self {
        Self {
            card,
            document,
            fresh_until: Directives::of(headers).fresh_until(),
            etag: headers.get(header::ETAG).cloned(),
            last_modified: headers.get(header::LAST_MODIFIED).cloned(),
        }
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.fresh_until.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn resolved(&self, url: &Url) -> Resolved {
        Resolved { card: self.card.clone(), document: self.document.clone(), url: Some(url.clone()) }
    }

    /// Makes a request conditional, so that the agent sends the card only after a change.
    pub(super) fn make_conditional(&self, headers: &mut HeaderMap) {
        if let Some(etag) = &self.etag {
            headers.insert(header::IF_NONE_MATCH, etag.clone());
        } else if let Some(time) = &self.last_modified {
            headers.insert(header::IF_MODIFIED_SINCE, time.clone());
        }
    }
}

impl Cache {
    pub(super) fn get(&self, url: &Url) -> Option<CachedCard> {
        self.lock().get(url).cloned()
    }

    /// Caches a card, if its headers allow this.
    pub(super) fn keep(&self, url: &Url, kept: &CachedCard, headers: &HeaderMap) {
        let mut cards = self.lock();
        if Directives::of(headers).no_store {
            cards.remove(url);
            return;
        }
        if cards.len() >= CAPACITY && !cards.contains_key(url) {
            cards.retain(|_, kept| kept.is_fresh());
            if let Some(any) = cards.keys().next().cloned().filter(|_| cards.len() >= CAPACITY) {
                cards.remove(&any);
            }
        }
        cards.insert(url.clone(), kept.clone());
    }

    /// Renews the time of an unchanged card.
    pub(super) fn refresh(&self, url: &Url, mut kept: CachedCard, headers: &HeaderMap) -> CachedCard {
        kept.fresh_until = Directives::of(headers).fresh_until();
        if let Some(etag) = headers.get(header::ETAG) {
            kept.etag = Some(etag.clone());
        }
        self.lock().insert(url.clone(), kept.clone());
        kept
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Url, CachedCard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The directives of `Cache-Control`, and `Age`.
#[derive(Default)]
struct Directives {
    max_age: Option<Duration>,
    age: Duration,
    no_store: bool,
    no_cache: bool,
}

impl Directives {
    fn of(headers: &HeaderMap) -> Self {
        let mut directives = Self::default();
        let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
        for directive in values.flat_map(|value| value.split(',')) {
            let (name, value) = directive.trim().split_once('=').unwrap_or((directive.trim(), ""));
            match name.to_ascii_lowercase().as_str() {
                "max-age" => {
                    // A time that cannot be read is stale (RFC 9111, section 4.2.1).
                    let seconds = value.trim_matches('"').parse().unwrap_or(0);
                    directives.max_age = Some(Duration::from_secs(seconds));
                }
                "no-store" => directives.no_store = true,
                "no-cache" => directives.no_cache = true,
                _ => {}
            }
        }
        let age = headers.get(header::AGE).and_then(|age| age.to_str().ok()?.parse().ok());
        directives.age = Duration::from_secs(age.unwrap_or(0));
        directives
    }

    /// The end of the time in which the card is fresh. Without caching headers the client validates the card for each
    /// use, by its `ETag` if the card has one (section 8.6.2).
    fn fresh_until(&self) -> Option<Instant> {
        let left = self.max_age.filter(|_| !self.no_cache && !self.no_store)?.checked_sub(self.age)?;
        // At most a day, because a card can change.
        Instant::now().checked_add(left.min(Duration::from_hours(24)))
    }
}
