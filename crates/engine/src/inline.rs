//! Polls a runner inside the request that waits for it, which saves a task switch. If the request ends or is dropped
//! first, the runner goes on in a task of its own.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};

use crate::{runner::Runner, shared::Shared};

type RunnerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) struct Inline(Option<RunnerFuture>);

impl Inline {
    pub(crate) fn new(runner: Runner) -> Self {
        Self(Some(Box::pin(runner.run())))
    }

    /// Continues the runner in a task of its own.
    pub(crate) fn detach(self) {
        drop(self);
    }

    /// Runs until `done` returns a result. `done` is called after each step, and must depend only on the work of the
    /// runner.
    pub(crate) async fn until<T>(mut self, mut done: impl FnMut() -> Option<T>) -> Option<T> {
        poll_fn(|cx| {
            let over = match &mut self.0 {
                Some(runner) => runner.as_mut().poll(cx).is_ready(),
                None => true,
            };
            if over {
                self.0 = None;
            }
            match done() {
                None if !over => Poll::Pending,
                outcome => Poll::Ready(outcome),
            }
        })
        .await
    }

    /// Runs the runner while waiting for a future that depends on the runner.
    pub(crate) async fn with<T>(mut self, waiting: impl Future<Output = T>) -> T {
        let mut waiting = pin!(waiting);
        poll_fn(|cx| {
            if let Some(runner) = &mut self.0
                && runner.as_mut().poll(cx).is_ready()
            {
                self.0 = None;
            }
            waiting.as_mut().poll(cx)
        })
        .await
    }
}

impl Drop for Inline {
    fn drop(&mut self) {
        if let Some(runner) = self.0.take() {
            Shared::spawn(runner);
        }
    }
}
