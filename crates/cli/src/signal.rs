//! What SIGINT and SIGTERM do to a command that waits.

use std::{future::Future, process::ExitCode};

/// What a shell reports for a process that a signal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
}

impl Signal {
    pub(crate) fn exit(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        })
    }
}

/// Runs a command until it is done, or a signal comes.
pub(crate) async fn or_signal<T>(work: impl Future<Output = T>) -> Result<T, Signal> {
    tokio::select! {
        done = work => Ok(done),
        signal = next() => Err(signal),
    }
}

/// The next signal.
#[cfg(unix)]
pub(crate) async fn next() -> Signal {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => Signal::Interrupt,
        _ = terminate.recv() => Signal::Terminate,
    }
}

/// The next signal.
#[cfg(not(unix))]
pub(crate) async fn next() -> Signal {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Signal::Interrupt,
        Err(_) => std::future::pending().await,
    }
}
