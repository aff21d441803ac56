//! What is under way, and how much of it may be.

use std::sync::Arc;

use nuncio_limit::{Gauge, Most, Permit, Quota};
use nuncio_model::{Error, ErrorKind, Principal};

use crate::limits::Limits;

/// Keeps a stream counted.
pub(crate) type StreamPermit = Permit;

/// What is under way.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Requests whose response has not begun, before it is known whose they are.
    pub(crate) requests: Arc<Gauge>,
    /// The same by caller.
    pub(crate) calls: Arc<Gauge>,
    /// Streams that have not ended.
    pub(crate) streams: Arc<Gauge>,
    /// Bytes of the bodies of requests.
    pub(crate) bytes: Arc<Gauge>,
    /// Bytes of questions for the server's health, which are small: whoever asks is known to nobody.
    pub(crate) questions: Arc<Gauge>,
    /// Streams of those who watch it.
    pub(crate) watchers: Arc<Gauge>,
}

/// How many may watch the server's health. These are strangers, so they take no stream from a caller.
const WATCHERS: usize = 1_000;

impl Load {
    pub(crate) fn new(limits: &Limits) -> Self {
        let gauge = |what, in_all, per_caller, kind| Gauge::new(Quota { what, in_all, per_caller, kind });
        // One request of the largest size must always be possible.
        let bytes = |name, limit: usize| Most::new(name, limit.max(limits.body));
        Self {
            requests: gauge(
                "requests are under way",
                Most::new("requests", limits.requests),
                Most::NONE,
                ErrorKind::Unavailable,
            ),
            calls: gauge(
                "requests are under way",
                Most::NONE,
                Most::new("requests_per_caller", limits.requests_per_caller),
                ErrorKind::Unavailable,
            ),
            streams: gauge(
                "streams are open",
                Most::new("streams", limits.streams),
                Most::new("streams_per_caller", limits.streams_per_caller),
                ErrorKind::ResourceExhausted,
            ),
            bytes: gauge(
                "bytes of requests are under way",
                bytes("body_bytes", limits.body_bytes),
                bytes("body_bytes_per_caller", limits.body_bytes_per_caller),
                ErrorKind::Unavailable,
            ),
            questions: gauge("questions are under way", Most::NONE, Most::NONE, ErrorKind::Unavailable),
            watchers: gauge(
                "watchers of the server's health are there",
                Most::new("watchers", WATCHERS),
                Most::NONE,
                ErrorKind::ResourceExhausted,
            ),
        }
    }

    /// Counts a stream of this caller.
    ///
    /// Fails with `ResourceExhausted` where there are too many.
    pub(crate) fn stream(&self, principal: &Principal) -> Result<StreamPermit, Error> {
        self.streams.take(principal, 1)
    }
}
