//! The turns that run on this node: how many, and whether more may.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use nuncio_model::{Error, ErrorKind};
use tokio::sync::Notify;

/// Counts turns, and says when the engine stops.
///
/// Who begins a turn writes the count and then reads the flag; who stops the engine writes the flag and then reads the
/// count. Both in one order for all, so at least one sees the other.
#[derive(Default)]
pub(crate) struct Turns {
    running: AtomicUsize,
    idle: Notify,
    draining: AtomicBool,
    stopping: AtomicBool,
}

impl Turns {
    /// How many run.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Counts a turn that is about to run, if another may.
    pub(crate) fn begin(&self, limit: usize) -> Result<(), Error> {
        let others = self.running.fetch_add(1, Ordering::SeqCst);
        let refusal = if self.are_draining() {
            stopping()
        } else if others >= limit {
            Error::new(ErrorKind::ResourceExhausted, "too many turns are running; try again later")
                .with_retry_after(Duration::from_secs(1))
        } else {
            return Ok(());
        };
        self.end();
        Err(refusal)
    }

    pub(crate) fn end(&self) {
        if self.running.fetch_sub(1, Ordering::SeqCst) == 1 && self.are_draining() {
            self.idle.notify_waiters();
        }
    }

    /// From now on no turn begins.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(crate) fn are_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// From now on those that run are to be cut off.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub(crate) fn are_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Waits until none runs. Only once they drain.
    pub(crate) async fn rest(&self) {
        loop {
            let idle = self.idle.notified();
            if self.running() == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// The error for what a client wants while the engine stops.
pub(crate) fn stopping() -> Error {
    Error::new(ErrorKind::Unavailable, "the server is stopping; try again later")
}
