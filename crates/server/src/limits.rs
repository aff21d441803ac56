//! What bounds a server.

use nuncio_limit::Rate;
use std::time::Duration;

/// A server's limits. What is refused at one is refused in the shape of the request's binding.
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
    /// The size of a request's body in bytes; more is 413. 16 MiB.
    pub body: usize,
    /// How long a request's body may take from its head to its end; longer is 504. 30 s.
    pub body_time: Duration,
    /// How long the head of a request may take, and a connection wait for its next request; the connection is closed
    /// then, over HTTP/2 after a GOAWAY. 30 s.
    pub head_time: Duration,
    /// How long a client may leave unread what it is sent, or its network silent while something is under way; the
    /// connection is closed then, on Linux only. A stream of HTTP/2 of which no 16 KiB are taken in this time is reset,
    /// on any system, and the others on its connection go on. 60 s.
    pub stall_time: Duration,
    /// The size of a request's head in bytes; more is 431. Method, address and headers count as they do in HTTP/2 (RFC
    /// 9113, section 6.5.2), which is 32 more for each than its name and its value. Of a head that is 64 KiB over the
    /// limit no more is read, and its 431 has no body. 16 KiB.
    pub head: usize,
    /// Requests under way whose response has not begun; one more is 503. 10,000.
    pub requests: usize,
    /// Requests of one caller under way whose response has not begun; one more is 429. 2,500.
    pub requests_per_caller: usize,
    /// Bytes of the bodies of all requests under way; more is 503. At least [`body`](Self::body). 512 MiB.
    pub body_bytes: usize,
    /// Bytes of the bodies of one caller's requests under way; more is 429. At least [`body`](Self::body). 128 MiB.
    pub body_bytes_per_caller: usize,
    /// Bytes of all answers under way that have 64 KiB or more: from before they are written until the system has them.
    /// More is 503. Readers of the same bytes share them, and they count once. A larger answer is let in where there is
    /// no other. 512 MiB.
    pub answer_bytes: usize,
    /// Bytes of one caller's answers under way; more is 429. 128 MiB.
    pub answer_bytes_per_caller: usize,
    /// Bodies and answers of 256 KiB or more that are read and written at the same time, beside the threads that drive
    /// connections; more wait. On a runtime of a single thread there is no such thread. 4.
    pub large_at_once: usize,
    /// How many requests a caller may make in a time; one more is 429. As many as it likes.
    pub rate: Option<Rate>,
    /// Streams that may be open; one more is 429. 20,000.
    pub streams: usize,
    /// Streams of one caller that may be open; one more is 429. 5,000.
    pub streams_per_caller: usize,
    /// Connections that may be open; further ones wait until one is closed. 20,000.
    pub connections: usize,
    /// Connections of one address that may be open; further ones are closed at once. Of IPv6 a network (/64) counts as
    /// one address. 15,000.
    pub connections_per_address: usize,
    /// Logins of one address that may fail in a minute; requests of this address are then 429, and the credentials in
    /// them are not looked at. 100.
    pub failed_logins: usize,
    /// Streams, and other requests, that one connection of HTTP/2 may have open. 256.
    pub streams_per_connection: u32,
    /// How long a stream is silent before it carries a comment, so that nothing on the way takes it for dead. 15 s.
    pub keep_alive: Duration,
    /// How long requests and turns may go on after the server was told to end. 10 s.
    pub drain: Duration,
}

impl Limits {
    /// The same with times that can be added to one: a longer one than this is for ever.
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
