//! The end of a server, in steps: nothing new, then no streams, then nothing at all.

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Tells all parts of a server how far its end has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    started: CancellationToken,
    streams: CancellationToken,
    connections: CancellationToken,
}

impl Drain {
    /// Nothing new is taken from now on.
    pub(crate) fn start(&self) {
        self.started.cancel();
    }

    /// Whether it has begun.
    pub(crate) fn has_started(&self) -> bool {
        self.started.is_cancelled()
    }

    /// Waits until it begins.
    pub(crate) fn started(&self) -> WaitForCancellationFutureOwned {
        self.started.clone().cancelled_owned()
    }

    /// Streams end from now on, as soon as they have said what there is to say.
    pub(crate) fn end_streams(&self) {
        self.streams.cancel();
    }

    /// Waits until streams are to end.
    pub(crate) fn streams_end(&self) -> WaitForCancellationFutureOwned {
        self.streams.clone().cancelled_owned()
    }

    /// Connections are cut off from now on.
    pub(crate) fn abort(&self) {
        self.connections.cancel();
    }

    /// Waits until connections are to be cut off.
    pub(crate) fn aborted(&self) -> WaitForCancellationFutureOwned {
        self.connections.clone().cancelled_owned()
    }
}
