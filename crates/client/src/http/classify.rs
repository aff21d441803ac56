//! From what the HTTP library says to what it means.

use std::{error::Error as StdError, time::Duration};

use nuncio_model::error::causes;

use crate::failure::{Cause, Failure};

/// An error before the head of the answer came.
pub(super) fn sending(origin: &str, connect: Duration, error: reqwest::Error) -> Failure {
    let origin = origin.to_owned();
    let error = error.without_url();
    if let Some(reason) = tls(&error) {
        return Failure::Tls { origin, reason, source: Cause::new(error) };
    }
    if error.is_connect() {
        let reason = if error.is_timeout() { format!("no connection within {connect:?}") } else { innermost(&error) };
        return Failure::Unreachable { origin, reason, source: Cause::new(error) };
    }
    Failure::Broken { origin, reason: innermost(&error), source: Cause::new(error) }
}

/// An error while the body came.
pub(super) fn reading(origin: &str, error: reqwest::Error) -> Failure {
    let error = error.without_url();
    Failure::Broken { origin: origin.to_owned(), reason: innermost(&error), source: Cause::new(error) }
}

/// What the TLS library said, however deep it lies: an I/O error has what it wraps not as its source.
fn tls(error: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(match tls {
            rustls::Error::InvalidMessage(_) => "the other end does not speak TLS".to_owned(),
            tls => tls.to_string(),
        });
    }
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.and_then(|wrapped| tls(wrapped)).or_else(|| tls(error.source()?))
}

/// What the deepest cause says, which is what a person can act on.
pub(super) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let text = causes(error).last().unwrap_or(error).to_string();
    // "Connection refused (os error 111)"
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match (letters.next(), letters.as_str()) {
        (Some(first), rest) if !rest.starts_with(char::is_uppercase) => first.to_lowercase().collect::<String>() + rest,
        _ => text.to_owned(),
    }
}
