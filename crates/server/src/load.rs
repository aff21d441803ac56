//! The current load of a server, and its limits.

use std::sync::Arc;

use nuncio_limit::{Gauge, Most, Permit, Quota};
use nuncio_model::{Error, ErrorKind, Principal};

use crate::limits::Limits;

/// Counts a stream until the permit is dropped.
pub(crate) type StreamPermit = Permit;

/// The current load.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Requests without a response yet, counted before the caller is known.
    pub(crate) requests: Arc<Gauge>,
    /// Requests without a response yet, by caller.
    pub(crate) calls: Arc<Gauge>,
    /// Open streams.
    pub(crate) streams: Arc<Gauge>,
    /// Bytes of the bodies of requests.
    pub(crate) bytes: Arc<Gauge>,
    /// Bytes of health checks over gRPC, which are small. Their callers are not authenticated.
    pub(crate) health_checks: Arc<Gauge>,
    /// Streams that watch the health.
    pub(crate) watchers: Arc<Gauge>,
}

/// The largest number of streams that watch the health. Their callers are not authenticated, so these streams take no
/// place from a known caller.
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
            health_checks: gauge("health checks are under way", Most::NONE, Most::NONE, ErrorKind::Unavailable),
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
    /// Fails with `ResourceExhausted` if too many streams are open.
    pub(crate) fn stream(&self, principal: &Principal) -> Result<StreamPermit, Error> {
        self.streams.take(principal, 1)
    }
}
