//! Waits for readers that are behind.

use std::{future::poll_fn, task::Poll};

use tokio::time::timeout;

use super::LogWriter;
use crate::live::set_waker;

/// A task that ends at once and carries less is no matter: what waits for its readers is a few pages.
const MUCH: u64 = 4 * 1024;

impl LogWriter {
    /// Whether what is staged is to be found and cut where too much is kept for readers, although the task has ended.
    pub(super) fn has_much_to_read(&self) -> bool {
        self.size > MUCH && self.live.lock().is_read()
    }

    /// Slows down for readers that are behind the window; then leaves those behind that are still far from the end.
    pub(super) async fn pace(&self) {
        let window = self.shared.limits.backlog();
        let enough = window.sixteenths(15);
        let moved = poll_fn(|cx| {
            let mut inner = self.live.lock();
            if !inner.kept().is_beyond(enough) {
                return Poll::Ready(());
            }
            set_waker(&mut inner.pacer, cx);
            Poll::Pending
        });
        if timeout(self.shared.limits.slow_reader, moved).await.is_err() {
            self.live.lock().leave_behind(window.sixteenths(8));
        }
    }
}
