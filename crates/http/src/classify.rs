//! From the errors of the HTTP library to their meaning.

use std::{error::Error as StdError, time::Duration};

use nuncio_model::error::causes;

/// Why a request has no answer, without the URL: its query may contain a secret.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fault {
    /// The phase that failed.
    pub kind: FaultKind,
    /// Why, for people.
    pub reason: String,
    /// The error of the HTTP library.
    pub source: reqwest::Error,
}

/// The phase of a request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// No connection. Nothing was sent.
    Connect,
    /// A connection, but no TLS. Nothing was sent.
    Tls,
    /// The connection failed after the request was sent, or in part sent.
    Exchange,
}

impl Fault {
    /// Classifies an error that came before the head of the answer. `connect_timeout` is the timeout of the client.
    pub fn before_answer(error: reqwest::Error, connect_timeout: Duration) -> Self {
        let source = error.without_url();
        if let Some(reason) = tls(&source) {
            return Self { kind: FaultKind::Tls, reason, source };
        }
        if source.is_connect() && source.is_timeout() {
            return Self {
                kind: FaultKind::Connect,
                reason: format!("no connection within {connect_timeout:?}"),
                source,
            };
        }
        let kind = if source.is_connect() { FaultKind::Connect } else { FaultKind::Exchange };
        Self { kind, reason: innermost(&source), source }
    }

    /// An error in the body of an answer.
    pub fn in_body(error: reqwest::Error) -> Self {
        let source = error.without_url();
        Self { kind: FaultKind::Exchange, reason: innermost(&source), source }
    }
}

/// The message of the TLS library, at any depth. An I/O error does not return the error that it wraps as its source.
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

/// The message of the deepest cause, in the form of a reason: without the number of the system's error, and without a
/// capital at the beginning.
pub fn innermost(error: &(dyn StdError + 'static)) -> String {
    let text = causes(error).last().unwrap_or(error).to_string();
    // "Connection refused (os error 111)"
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match (letters.next(), letters.as_str()) {
        (Some(first), rest) if !rest.starts_with(char::is_uppercase) => first.to_lowercase().collect::<String>() + rest,
        _ => text.to_owned(),
    }
}
