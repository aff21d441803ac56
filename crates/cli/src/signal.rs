//! The effect of SIGINT and SIGTERM on a waiting command.

use std::{future::Future, process::ExitCode};

/// The exit code that a shell reports for a process ended by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
}

impl Signal {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }

    pub(crate) fn exit(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        })
    }
}

/// Runs a command until the command ends or a signal arrives.
pub(crate) async fn or_signal<T>(work: impl Future<Output = T>) -> Result<T, Signal> {
    let mut signals = Signals::new();
    tokio::select! {
        done = work => Ok(done),
        signal = signals.next() => Err(signal),
    }
}

/// The signals since the creation. No signal is lost between two calls of `next`.
pub(crate) struct Signals(#[cfg(unix)] Option<[tokio::signal::unix::Signal; 2]>);

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let both = signal(SignalKind::interrupt()).and_then(|it| Ok([it, signal(SignalKind::terminate())?]));
        Self(both.ok())
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        let Some([interrupt, terminate]) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => Signal::Interrupt,
            _ = terminate.recv() => Signal::Terminate,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new() -> Self {
        Self()
    }

    /// The next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}
