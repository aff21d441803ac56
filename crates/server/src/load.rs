//! What is under way, and how much of it may be.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use nuncio_model::{Error, ErrorKind};

/// A count with a limit.
#[derive(Debug)]
pub(crate) struct Gauge {
    count: AtomicUsize,
    limit: usize,
}

/// One of what a [`Gauge`] counts, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Gauge>);

/// Keeps a stream counted.
pub(crate) type StreamPermit = Permit;

impl Gauge {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), limit })
    }

    /// Counts one more, if there may be.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Permit> {
        if self.count.fetch_add(1, Ordering::Relaxed) < self.limit {
            Some(Permit(Arc::clone(self)))
        } else {
            self.count.fetch_sub(1, Ordering::Relaxed);
            None
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Release);
    }
}

/// Requests and streams under way.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Requests whose response has not begun.
    pub(crate) requests: Arc<Gauge>,
    /// Streams that have not ended.
    pub(crate) streams: Arc<Gauge>,
}

impl Load {
    pub(crate) fn new(requests: usize, streams: usize) -> Self {
        Self { requests: Gauge::new(requests), streams: Gauge::new(streams) }
    }

    /// Counts a stream.
    ///
    /// Fails with `ResourceExhausted` where there are too many.
    pub(crate) fn stream(&self) -> Result<StreamPermit, Error> {
        self.streams.take().ok_or_else(|| {
            Error::new(ErrorKind::ResourceExhausted, "too many streams are open; try again later")
                .with_retry_after(std::time::Duration::from_secs(1))
        })
    }
}
