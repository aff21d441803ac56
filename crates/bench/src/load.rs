//! The load generator: one thread, a minimal subset of HTTP/1.1 and gRPC over nonblocking sockets, and a check of every
//! answer.

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

/// The maximum silence of a server before the run is abandoned.
pub(crate) const STALL: Duration = Duration::from_secs(20);

/// The result of one server in one round.
#[derive(Debug)]
pub(crate) struct Slice {
    /// The number of correct answers or events.
    pub(crate) done: u64,
    /// The time from the first sent byte to the last answer.
    pub(crate) wall: Duration,
    /// The part of this time in which the load generator was awake and without work.
    pub(crate) idle: Duration,
    /// The time in nanoseconds from a request to its answer, or to the first chunk of a stream.
    pub(crate) latency: Histogram<u64>,
}

impl Slice {
    /// Answers or events per second.
    pub(crate) fn rate(&self) -> f64 {
        self.done as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

/// The end of a measurement; the load generator waits for current requests and counts them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// No new request is sent after this time.
    Elapsed(Duration),
    /// No new request is sent after this number of requests.
    Count(u64),
}

impl Until {
    /// Whether another request may be sent after `sent` requests in `elapsed`.
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
