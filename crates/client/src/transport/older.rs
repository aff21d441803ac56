//! An interface whose version is not clear from the card: it is called in the newest version, and once in an older one
//! where it does not know the method.

use std::sync::atomic::{AtomicBool, Ordering};

use nuncio_model::{Caller, Error, ErrorKind, Reply, Request};
use nuncio_wire::Version;

/// The interface in another version.
pub(crate) struct Older {
    version: Version,
    transport: Box<dyn Caller>,
    /// Whether the version of the card was tried and is not spoken.
    is_spoken: AtomicBool,
    /// Whether one of the versions was answered in.
    is_settled: AtomicBool,
}

impl Older {
    pub(crate) fn new(version: Version, transport: Box<dyn Caller>) -> Self {
        Self { version, transport, is_spoken: AtomicBool::new(false), is_settled: AtomicBool::new(false) }
    }

    /// The version, once it is known to be the one that is spoken.
    pub(crate) fn version(&self) -> Option<Version> {
        self.is_spoken.load(Ordering::Relaxed).then_some(self.version)
    }

    /// Makes a call in the newer version, and once in the older one where the agent does not know the newer.
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

/// Whether the agent says that it does not know the method, and so has not done anything.
fn is_unknown(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::MethodNotFound | ErrorKind::InvalidRequest | ErrorKind::VersionNotSupported)
}

/// Whether an error tells nothing of the version: it may come from a proxy, or from the way to the agent.
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
