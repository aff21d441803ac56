//! Encoded cards with validators, cached by the address of the request (section 8.6.1).

use std::{fmt::Write as _, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue,
    header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LAST_MODIFIED, VARY},
};
use jiff::{Timestamp, fmt::rfc2822};
use sha2::{Digest, Sha256};
use std::sync::Mutex;

use super::UrlPrefix;

/// The number of addresses with a cached card. The number is limited, because clients can invent addresses.
const KEPT: usize = 16;

/// An encoded card.
#[derive(Debug)]
pub(super) struct Document {
    body: Bytes,
    tag: HeaderValue,
}

/// The cards of recent requests.
#[derive(Debug)]
pub(super) struct Documents {
    kept: Mutex<Vec<(UrlPrefix, Arc<Document>)>>,
    made: Timestamp,
    last_modified: Option<HeaderValue>,
    cache_control: Option<HeaderValue>,
    varies: bool,
}

impl Documents {
    /// `varies` means that headers of a proxy change the card.
    pub(super) fn new(max_age: Duration, varies: bool) -> Self {
        let made = Timestamp::now();
        Self {
            kept: Mutex::default(),
            made,
            last_modified: rfc2822::DateTimePrinter::new()
                .timestamp_to_rfc9110_string(&made)
                .ok()
                .and_then(|text| text.try_into().ok()),
            cache_control: format!("public, max-age={}", max_age.as_secs()).try_into().ok(),
            varies,
        }
    }

    /// The time of the cards: the start of the server.
    pub(super) fn made(&self) -> Timestamp {
        self.made
    }

    /// The card for this address. If the card is not cached, `encode` encodes the card. `None` if `encode` returns
    /// `None`.
    pub(super) fn of(&self, base: &UrlPrefix, encode: impl FnOnce() -> Option<Vec<u8>>) -> Option<Arc<Document>> {
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, document)) = kept.iter().find(|(other, _)| other == base) {
            return Some(Arc::clone(document));
        }
        let document = Arc::new(Document::new(encode()?.into()));
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((base.clone(), Arc::clone(&document)));
        Some(document)
    }

    /// Adds the headers for caches: the age, the time, and the headers on which the card depends.
    pub(super) fn describe(&self, headers: &mut HeaderMap) {
        headers.extend(self.cache_control.clone().map(|value| (CACHE_CONTROL, value)));
        headers.extend(self.last_modified.clone().map(|value| (LAST_MODIFIED, value)));
        if self.varies {
            let by = "Forwarded, X-Forwarded-Host, X-Forwarded-Port, X-Forwarded-Prefix, X-Forwarded-Proto";
            headers.insert(VARY, HeaderValue::from_static(by));
        }
    }
}

impl Document {
    pub(super) fn new(body: Bytes) -> Self {
        let mut tag = String::with_capacity(34);
        tag.push('"');
        for byte in &Sha256::digest(&body)[..16] {
            // A write to a string does not fail.
            let _ = write!(tag, "{byte:02x}");
        }
        tag.push('"');
        let tag = HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\""));
        Self { body, tag }
    }

    pub(super) fn body(&self) -> Bytes {
        self.body.clone()
    }

    pub(super) fn describe(&self, headers: &mut HeaderMap) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        headers.insert(ETAG, self.tag.clone());
    }

    pub(super) fn validators(&self, made: Timestamp) -> Validators<'_> {
        Validators { tag: self.tag.as_bytes(), made }
    }
}

/// The facts by which a client validates its copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validators<'a> {
    tag: &'a [u8],
    made: Timestamp,
}

impl Validators<'_> {
    /// Whether the list has the tag, or the list is `*`. Weak tags match, too.
    pub(super) fn matches(&self, tags: &HeaderValue) -> bool {
        tags.as_bytes()
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .any(|tag| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == self.tag)
    }

    /// Whether the card is not newer than this time.
    pub(super) fn is_unmodified_since(&self, since: &HeaderValue) -> bool {
        let since = rfc2822::DateTimeParser::new().parse_timestamp(since.as_bytes());
        since.is_ok_and(|since| self.made.as_second() <= since.as_second())
    }
}
