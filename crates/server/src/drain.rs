//! The steps of a server's shutdown: no new requests, then no streams, then no connections.

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Tells all parts of a server the current step of the shutdown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    started: CancellationToken,
    streams: CancellationToken,
    connections: CancellationToken,
}

impl Drain {
    /// Starts the shutdown: the server takes no new requests.
    pub(crate) fn start(&self) {
        self.started.cancel();
    }

    /// Whether the shutdown has started.
    pub(crate) fn has_started(&self) -> bool {
        self.started.is_cancelled()
    }

    /// Waits until the shutdown starts.
    pub(crate) fn started(&self) -> WaitForCancellationFutureOwned {
        self.started.clone().cancelled_owned()
    }

    /// Ends the streams. Each stream first sends the events that are ready.
    pub(crate) fn end_streams(&self) {
        self.streams.cancel();
    }

    /// Waits until streams must end.
    pub(crate) fn streams_end(&self) -> WaitForCancellationFutureOwned {
        self.streams.clone().cancelled_owned()
    }

    /// Closes the connections.
    pub(crate) fn abort(&self) {
        self.connections.cancel();
    }

    /// Waits until connections must close.
    pub(crate) fn aborted(&self) -> WaitForCancellationFutureOwned {
        self.connections.clone().cancelled_owned()
    }
}
