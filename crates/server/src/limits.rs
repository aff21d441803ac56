//! The limits of a server.

use nuncio_limit::Rate;
use std::time::Duration;

/// The limits of a server. A refusal at a limit has the error format of the request's binding.
///
/// ```
/// use nuncio_server::Limits;
///
/// let mut limits = Limits::default();
/// limits.body = 1024 * 1024;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The size of a request's body in bytes; a larger body is 413. 16 MiB.
    pub body: usize,
    /// The time from a request's head to the end of its body; a longer time is 504. 30 s.
    pub body_time: Duration,
    /// The time for the head of a request, and the time a connection may wait for its next request. After this time the
    /// connection is closed, over HTTP/2 after a GOAWAY. 30 s.
    pub head_time: Duration,
    /// The time for which a client may leave sent data unread, or for which its network may be silent during a request.
    /// After this time the connection is closed, on Linux only. A stream of HTTP/2 of which the client takes less than
    /// 16 KiB in this time is reset, on any system; the other streams of the connection continue. 60 s.
    pub stall_time: Duration,
    /// The size of a request's head in bytes; a larger head is 431. Method, address and headers are counted as in
    /// HTTP/2 (RFC 9113, section 6.5.2): name and value plus 32 for each. The server reads at most 64 KiB over the
    /// limit; the 431 for a larger head has no body. 16 KiB.
    pub head: usize,
    /// Requests without a response yet; one more is 503. 10,000.
    pub requests: usize,
    /// Requests of one caller without a response yet; one more is 429. 2,500.
    pub requests_per_caller: usize,
    /// Bytes of the bodies of all current requests; more is 503. At least [`body`](Self::body). 512 MiB.
    pub body_bytes: usize,
    /// Bytes of the bodies of one caller's current requests; more is 429. At least [`body`](Self::body). 128 MiB.
    pub body_bytes_per_caller: usize,
    /// Bytes of all current answers of 64 KiB or more, from before their encoding until the system has the bytes. More
    /// is 503. Readers of the same bytes share the bytes, which count once. An answer that is larger than the limit is
    /// allowed if no other answer is being sent. 512 MiB.
    pub answer_bytes: usize,
    /// Bytes of one caller's current answers; more is 429. 128 MiB.
    pub answer_bytes_per_caller: usize,
    /// Bodies and answers of 256 KiB or more that are decoded and encoded at the same time, outside of the threads that
    /// drive connections; more wait. A runtime of a single thread has no other threads. 4.
    pub large_at_once: usize,
    /// Requests of a caller per time; one more is 429. No limit by default.
    pub rate: Option<Rate>,
    /// Open streams; one more is 429. 20,000.
    pub streams: usize,
    /// Open streams of one caller; one more is 429. 5,000.
    pub streams_per_caller: usize,
    /// Open connections; further connections wait until one is closed. 20,000.
    pub connections: usize,
    /// Open connections of one address; further connections are closed at once. An IPv6 network (/64) counts as one
    /// address. 15,000.
    pub connections_per_address: usize,
    /// Failed logins of one address in a minute. More requests of this address are 429, and the server does not check
    /// their credentials. 100.
    pub failed_logins: usize,
    /// Streams and other requests that one connection of HTTP/2 may have open. 256.
    pub streams_per_connection: u32,
    /// The silence after which a stream carries a comment, so that no proxy closes the stream as dead. 15 s.
    pub keep_alive: Duration,
    /// The time for requests and turns to end after the shutdown has started. 10 s.
    pub drain: Duration,
}

impl Limits {
    /// The same limits with times that can be added to an instant. A longer time is reduced to 100 years.
    pub(crate) fn finite(self) -> Self {
        const EVER: Duration = Duration::from_hours(100 * 365 * 24);
        Self {
            body_time: self.body_time.min(EVER),
            head_time: self.head_time.min(EVER),
            stall_time: self.stall_time.min(EVER),
            keep_alive: self.keep_alive.min(EVER),
            drain: self.drain.min(EVER),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            head_time: Duration::from_secs(30),
            stall_time: Duration::from_mins(1),
            head: 16 * 1024,
            requests: 10_000,
            requests_per_caller: 2_500,
            body_bytes: 512 * 1024 * 1024,
            body_bytes_per_caller: 128 * 1024 * 1024,
            answer_bytes: 512 * 1024 * 1024,
            answer_bytes_per_caller: 128 * 1024 * 1024,
            large_at_once: 4,
            rate: None,
            streams: 20_000,
            streams_per_caller: 5_000,
            connections: 20_000,
            connections_per_address: 15_000,
            failed_logins: 100,
            streams_per_connection: 256,
            keep_alive: Duration::from_secs(15),
            drain: Duration::from_secs(10),
        }
    }
}
