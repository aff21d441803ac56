//! Slows down a writer for slow readers.

use std::{future::poll_fn, task::Poll};

use tokio::time::timeout;

use super::LogWriter;
use crate::live::set_waker;

/// A task of this size or less is not registered if it ends with its first commit: its tail is a few pages.
const MUCH: u64 = 4 * 1024;

impl LogWriter {
    /// Whether a task that ends with its first commit must be registered, so that its readers can be evicted.
    pub(super) fn has_much_to_read(&self) -> bool {
        self.size > MUCH && self.live.lock().is_read()
    }

    /// Waits until the readers are within the window. If they are not within `slow_reader`, evicts the readers that are
    /// more than half a window behind.
    pub(super) async fn apply_backpressure(&self) {
        let window = self.shared.limits.backlog();
        let enough = window.sixteenths(15);
        let moved = poll_fn(|cx| {
            let mut state = self.live.lock();
            if !state.trimmed_backlog().is_beyond(enough) {
                return Poll::Ready(());
            }
            set_waker(&mut state.backpressure, cx);
            Poll::Pending
        });
        if timeout(self.shared.limits.slow_reader, moved).await.is_err() {
            self.live.lock().evict_readers(window.sixteenths(8));
        }
    }
}
