//! The time limits and size limits of a client, and its check of certificates.

use std::time::Duration;

use nuncio_limit::{Backoff, Jitter};

/// The time limits of a client. A whole stream has no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The limit for a connection, including TLS. 10 s.
    pub connect: Duration,
    /// The limit for the whole answer of an operation, except for sent messages. For a subscription, the limit for the
    /// start of its stream, because 1.0 sends the task first. Before 1.0 a stream can start with its first event, so
    /// only [`idle`](Self::idle) limits the start. 60 s.
    pub answer: Option<Duration>,
    /// The limit for the whole answer to a message without a stream. The agent answers at the end of its work, so the
    /// default is `None`.
    pub send: Option<Duration>,
    /// The limit for the head of the answer to a message with a stream. An agent may send the head with its first
    /// event, so the limit is long: 5 min.
    pub begin: Option<Duration>,
    /// The limit for the next byte of a stream, including keep-alives (gRPC has none). After this time the stream
    /// counts as broken. The limit includes the wait for the start of the stream, from the request on. The limit also
    /// applies to the answer of an agent that does not stream. `None` by default: TCP keep-alive detects a dead
    /// connection, but a silent peer is waited for.
    pub idle: Option<Duration>,
    /// The limit for the next byte of a stream that can be resumed, including keep-alives (gRPC has none). After this
    /// time the stream is resumed. The limit applies from the first event on, which names the task, and to a
    /// subscription from its start. An agent has any time for its first event, unlike with [`idle`](Self::idle). `None`
    /// by default; the command sets 60 s.
    pub stall: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Some(Duration::from_mins(1)),
            send: None,
            begin: Some(Duration::from_mins(5)),
            idle: None,
            stall: None,
        }
    }
}

impl Timeouts {
    /// Sets [`connect`](Self::connect).
    pub fn with_connect(mut self, connect: Duration) -> Self {
        self.connect = connect;
        self
    }

    /// Sets [`answer`](Self::answer).
    pub fn with_answer(mut self, answer: impl Into<Option<Duration>>) -> Self {
        self.answer = answer.into();
        self
    }

    /// Sets [`send`](Self::send).
    pub fn with_send(mut self, send: impl Into<Option<Duration>>) -> Self {
        self.send = send.into();
        self
    }

    /// Sets [`begin`](Self::begin).
    pub fn with_begin(mut self, begin: impl Into<Option<Duration>>) -> Self {
        self.begin = begin.into();
        self
    }

    /// Sets [`idle`](Self::idle).
    pub fn with_idle(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }

    /// Sets [`stall`](Self::stall).
    pub fn with_stall(mut self, stall: impl Into<Option<Duration>>) -> Self {
        self.stall = stall.into();
        self
    }
}

/// The HTTP options of a client.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The time limits.
    pub timeouts: Timeouts,
    /// The largest size in bytes of an answer, an event of a stream or a gRPC message. 64 MiB.
    pub max_message: usize,
    /// The largest size of a card in bytes. 4 MiB.
    pub max_card: usize,
    /// The largest number of redirects. 5. Credentials are not sent to another origin.
    pub redirects: usize,
    /// Accepts any certificate. Only for tests on the own machine.
    pub insecure: bool,
    /// Certificates of additional authorities, in PEM.
    pub authorities: Vec<Vec<u8>>,
    /// The value of `User-Agent`.
    pub user_agent: String,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            max_message: 64 * 1024 * 1024,
            max_card: 4 * 1024 * 1024,
            redirects: 5,
            insecure: false,
            authorities: Vec::new(),
            user_agent: concat!("nuncio/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// How a client resumes a broken stream.
///
/// If the agent sends `Retry-After`, its value replaces the delay, up to [`max_delay`](Self::max_delay).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconnect {
    /// The number of attempts in a row without progress. Progress is a new event, or a second of an open connection. 8;
    /// 0 disables the attempts.
    pub attempts: u32,
    /// The delay before the first attempt. Each further delay is twice as long. 200 ms.
    pub first_delay: Duration,
    /// The longest delay before an attempt, also with `Retry-After`. 10 s.
    pub max_delay: Duration,
    /// The longest time of all attempts and delays without a new event. `None`, the default, means no limit. The command
    /// sets at most 15 s, because the command can read the task instead.
    pub time_limit: Option<Duration>,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self {
            attempts: 8,
            first_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(10),
            time_limit: None,
        }
    }
}

impl Reconnect {
    /// No attempts: a broken stream is an error.
    pub fn never() -> Self {
        Self { attempts: 0, ..Self::default() }
    }

    /// The delay before this attempt, counted from 0. A random part of up to a quarter is subtracted, so that many
    /// clients do not return at the same time.
    pub(crate) fn delay(&self, attempt: u32) -> Duration {
        let jitter = Jitter::Between(0.75, 1.0);
        Backoff { first: self.first_delay, longest: self.max_delay, jitter }.delay(attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest_minus_a_random_quarter() {
        let reconnect = Reconnect::default();
        for (attempt, longest) in [(0, 0.2), (1, 0.4), (5, 6.4), (6, 10.0), (u32::MAX, 10.0)] {
            let delay = reconnect.delay(attempt).as_secs_f64();
            assert!((0.75 * longest..=longest).contains(&delay), "{attempt}: {delay}");
        }
        let long = Reconnect { first_delay: Duration::MAX, max_delay: Duration::MAX, ..reconnect };
        assert!(long.delay(u32::MAX) >= Duration::MAX / 4 * 3);
    }
}
