//! Shows on a terminal how long a command has waited, after the first second.

use std::{
    future::Future,
    io::{self, IsTerminal as _, Write as _},
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crate::output;

/// Whether the time stands on the line of the cursor.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Runs the work. If stderr is a terminal, stderr shows the elapsed time each second.
pub(crate) async fn shown<T>(work: impl Future<Output = T>) -> T {
    if !io::stderr().is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return work.await;
    }
    let (mut work, began) = (pin!(work), Instant::now());
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                clear();
                return done;
            }
            () = tokio::time::sleep(Duration::from_secs(1)) => show(began.elapsed()),
        }
    }
}

/// Takes the time away, before something else is written.
pub(crate) fn clear() {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
    }
}

fn show(elapsed: Duration) {
    // A text that grows has the line.
    if output::is_open() {
        return;
    }
    let mut stderr = io::stderr().lock();
    if write!(stderr, "\r\u{1b}[K{} s", elapsed.as_secs()).and_then(|()| stderr.flush()).is_ok() {
        IS_SHOWN.store(true, Ordering::Relaxed);
    }
}
