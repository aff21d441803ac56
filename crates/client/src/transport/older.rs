//! An interface without a clear version in its card. The client calls the newest version first, and repeats the call
//! once in an older version if the agent does not know the method.

use std::sync::atomic::{AtomicBool, Ordering};

use nuncio_model::{Caller, Error, ErrorKind, Reply, Request};
use nuncio_wire::Version;

/// The interface in the older version.
pub(crate) struct Older {
    version: Version,
    transport: Box<dyn Caller>,
    /// Whether the older version is in use.
    is_spoken: AtomicBool,
    /// Whether the version is decided.
    is_settled: AtomicBool,
}

impl Older {
    pub(crate) fn new(version: Version, transport: Box<dyn Caller>) -> Self {
        Self { version, transport, is_spoken: AtomicBool::new(false), is_settled: AtomicBool::new(false) }
    }

    /// The older version, if this version is in use.
    pub(crate) fn version(&self) -> Option<Version> {
        self.is_spoken.load(Ordering::Relaxed).then_some(self.version)
    }

    /// Calls the newer version. If the agent does not know the method, repeats the call once in the older version.
    pub(crate) async fn call(&self, newer: &dyn Caller, request: Request) -> Result<Reply, Error> {
        if self.is_spoken.load(Ordering::Relaxed) {
            return self.transport.call(request).await;
        }
        if self.is_settled.load(Ordering::Relaxed) {
            return newer.call(request).await;
        }
        match newer.call(request.clone()).await {
            Err(error) if is_unknown(&error) => {
                tracing::debug!(%error, version = self.version.as_str(), "trying an older version");
                let outcome = self.transport.call(request).await;
                match &outcome {
                    Err(other) if is_unknown(other) => return Err(error),
                    Err(other) if is_undecided(other) => {}
                    _ => self.is_spoken.store(true, Ordering::Relaxed),
                }
                outcome
            }
            outcome => {
                self.is_settled.store(outcome.is_ok(), Ordering::Relaxed);
                outcome
            }
        }
    }
}

/// Whether the agent did not know the method, and therefore did nothing.
fn is_unknown(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::MethodNotFound | ErrorKind::InvalidRequest | ErrorKind::VersionNotSupported)
}

/// Whether an error does not decide the version: a proxy or a failed connection can cause the error.
fn is_undecided(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unavailable
            | ErrorKind::DeadlineExceeded
            | ErrorKind::ResourceExhausted
            | ErrorKind::Unauthenticated
            | ErrorKind::PermissionDenied
    )
}
