//! Runs asynchronous work from any thread, also inside a runtime, where blocking on another runtime is forbidden.

use std::thread;

use anyhow::{Context as _, Result, anyhow};

/// Runs work to its end, with a separate thread and runtime.
pub(crate) fn run<T: Send>(work: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let on_runtime = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.context("cannot start a runtime")?.block_on(work)
    };
    thread::scope(|scope| scope.spawn(on_runtime).join()).map_err(|_| anyhow!("the work panicked"))?
}
