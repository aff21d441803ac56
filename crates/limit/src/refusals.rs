//! The errors at a limit.

use std::time::Duration;

use nuncio_model::{Error, ErrorKind, Principal};

use crate::sampled::Sampled;

/// The time after which a refused caller can try again.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The error for an operation that is impossible now and may be possible soon: `Unavailable`, with [`RETRY_AFTER`].
pub fn not_now(message: &str) -> Error {
    Error::new(ErrorKind::Unavailable, message).with_retry_after(RETRY_AFTER)
}

/// Makes the errors of requests that exceed a limit, and logs some of them.
pub struct Refusals {
    in_all: &'static str,
    per_caller: &'static str,
    sampled: Sampled,
}

impl Refusals {
    /// Refusals at two limits, by their names: the limit in total, and the limit of each caller.
    pub fn new(in_all: &'static str, per_caller: &'static str) -> Self {
        Self { in_all, per_caller, sampled: Sampled::default() }
    }

    /// The caller has too much. `what` names the amount for people: `turns are running`.
    pub fn caller(&self, principal: &Principal, what: &str) -> Error {
        self.log(self.per_caller, principal, "a caller is at its limit");
        error(ErrorKind::ResourceExhausted, self.per_caller, format!("too many of your {what}; try again later"))
    }

    /// There is too much in total.
    pub fn all(&self, principal: &Principal, what: &str, kind: ErrorKind) -> Error {
        self.log(self.in_all, principal, "a limit is reached");
        error(kind, self.in_all, format!("too many {what}; try again later"))
    }

    fn log(&self, limit: &str, principal: &Principal, message: &str) {
        if let Some(silent) = self.sampled.next() {
            tracing::warn!(limit, caller = %principal, silent, "{message}");
        }
    }
}

fn error(kind: ErrorKind, limit: &str, message: String) -> Error {
    Error::new(kind, message).with_retry_after(RETRY_AFTER).with_metadata("limit", limit)
}
