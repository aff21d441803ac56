//! The load generator. It has one thread, speaks just enough HTTP/1.1 and gRPC over nonblocking sockets, and checks
//! every answer.

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod delay;
pub(crate) mod grpc;
pub(crate) mod http1;
pub(crate) mod proto;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod sequence;
pub(crate) mod shared;
pub(crate) mod sse;
pub(crate) mod unary;
pub(crate) mod watch;

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;

/// How long a server may say nothing before the run gives up on it.
pub(crate) const STALL: Duration = Duration::from_secs(20);

/// What one server did in one round.
#[derive(Debug)]
pub(crate) struct Slice {
    /// Answers or events that arrived and were right.
    pub(crate) done: u64,
    /// From the first byte sent to the last answer.
    pub(crate) wall: Duration,
    /// For how long of it the load generator, awake, had nothing to do.
    pub(crate) idle: Duration,
    /// Nanoseconds from request to answer, or to the first chunk of a stream.
    pub(crate) latency: Histogram<u64>,
}

impl Slice {
    /// Answers or events a second.
    pub(crate) fn rate(&self) -> f64 {
        self.done as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

/// When a measurement ends; what is under way then is waited for and counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// After this time no new request is sent.
    Elapsed(Duration),
    /// After this many requests.
    Count(u64),
}

impl Until {
    /// Whether one more request may be sent after `sent` in `elapsed`.
    pub(crate) fn allows(self, sent: u64, elapsed: Duration) -> bool {
        match self {
            Self::Elapsed(limit) => elapsed < limit,
            Self::Count(limit) => sent < limit,
        }
    }
}

/// An empty latency histogram: 1 µs to 60 s in nanoseconds, three digits.
pub(crate) fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1_000, 60_000_000_000, 3)?)
}

/// Adds a latency to a histogram.
pub(crate) fn record(histogram: &mut Histogram<u64>, latency: Duration) {
    histogram.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
}
