//! What bounds a client's waits and sizes, and how it checks certificates.

use std::time::Duration;

use nuncio_limit::{Backoff, Jitter};

/// How long a client waits. There is no limit on a whole stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For a connection, TLS included. 10 s.
    pub connect: Duration,
    /// For the whole answer of an operation that has its answer ready, every one but sending a message; of a
    /// subscription, for the beginning of its stream, since the task comes first in 1.0. Before 1.0 nothing may come
    /// until something happens, and [`idle`](Self::idle) alone counts. 60 s.
    pub answer: Option<Duration>,
    /// For the whole answer to a message that is sent without a stream, which comes when the agent is done. None, by
    /// default.
    pub send: Option<Duration>,
    /// For the head of the answer to a message that is sent with a stream. An agent may send the head only when it has
    /// something to say, so this is long: 5 min.
    pub begin: Option<Duration>,
    /// For the next byte of a stream, keep-alives included (gRPC has none), before it counts as broken. The wait for
    /// its beginning counts, from the request on: an agent may begin to answer a message only when it has something to
    /// say. So does a wait within the answer of an agent that does not stream after all. None, by default: a dead
    /// connection is found by TCP keep-alive, but a peer that lives and says nothing is waited for.
    pub idle: Option<Duration>,
    /// For the next byte of a stream that can be taken up again, keep-alives included (gRPC has none), before it is
    /// taken for cut: from its first event on, which tells the task, and of a subscription from the beginning. An agent
    /// that may take as long as it wants to begin is not hurried by it, as it is by [`idle`](Self::idle). None, by
    /// default; 60 s of the command.
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

/// How a client speaks HTTP.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpSettings {
    /// How long it waits.
    pub timeouts: Timeouts,
    /// How many bytes one answer, one event of a stream or one gRPC message may have. 64 MiB.
    pub max_message: usize,
    /// How many bytes a card may have. 4 MiB.
    pub max_card: usize,
    /// How many redirects it follows. 5. Credentials do not go along to another origin.
    pub redirects: usize,
    /// Takes any certificate. For tests on a machine of one's own.
    pub insecure: bool,
    /// Certificates of authorities to trust beside the system's, in PEM.
    pub authorities: Vec<Vec<u8>>,
    /// What it calls itself in `User-Agent`.
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

/// How a stream that breaks is taken up again.
///
/// Where an agent says by `Retry-After` how long to wait, that takes the place of the delay, up to
/// [`max_delay`](Self::max_delay).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reconnect {
    /// How often in a row it is tried without anything new in between, be it an event or a second of silence on a
    /// connection that stays. 8; 0 turns it off.
    pub attempts: u32,
    /// How long before the first attempt; doubles with each. 200 ms.
    pub first_delay: Duration,
    /// How long at most before an attempt, whatever the agent asks for. 10 s.
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
    /// Never: a broken stream is an error.
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
    fn delays_double_up_to_the_longest_less_a_quarter_by_chance() {
        let reconnect = Reconnect::default();
        for (attempt, longest) in [(0, 0.2), (1, 0.4), (5, 6.4), (6, 10.0), (u32::MAX, 10.0)] {
            let delay = reconnect.delay(attempt).as_secs_f64();
            assert!((0.75 * longest..=longest).contains(&delay), "{attempt}: {delay}");
        }
        let long = Reconnect { first_delay: Duration::MAX, max_delay: Duration::MAX, ..reconnect };
        assert!(long.delay(u32::MAX) >= Duration::MAX / 4 * 3);
    }
}
