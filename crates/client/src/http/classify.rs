//! Converts errors of the HTTP client to failures of a call.

use std::time::Duration;

use nuncio_http::{Fault, FaultKind};

use crate::failure::{Cause, Failure};

/// An error before the head of the answer.
pub(super) fn sending(origin: &str, connect: Duration, error: reqwest::Error) -> Failure {
    failure(origin, Fault::before_answer(error, connect))
}

/// An error within the body.
pub(super) fn reading(origin: &str, error: reqwest::Error) -> Failure {
    failure(origin, Fault::in_body(error))
}

fn failure(origin: &str, fault: Fault) -> Failure {
    let (origin, reason, source) = (origin.to_owned(), fault.reason, Cause::new(fault.source));
    match fault.kind {
        FaultKind::Connect => Failure::Unreachable { origin, reason, source },
        FaultKind::Tls => Failure::Tls { origin, reason, source },
        _ => Failure::Broken { origin, reason, source },
    }
}
