//! The parts of HTTP+JSON (section 11 "HTTP+JSON/REST Protocol Binding") that all versions share. [`RestDialect`]
//! covers the paths, queries and bodies of a version.
//!
//! Server: [`Versions::for_path`](crate::Versions::for_path), then [`decode_call`], then [`RestDialect::encode_reply`]
//! or [`write_error`]. Client: [`RestDialect::encode_call`], then `decode_reply` of the dialect for a 2xx body, else
//! [`parse_error`].

mod error;
mod query;
mod route;

pub(crate) mod path;
pub(crate) mod resource;

use nuncio_model::{Call, Error, ErrorKind};

pub use error::{parse_error, write_error, write_error_as, write_refusal};

pub(crate) use error::encode_error;
pub use query::query_pairs;
pub use route::{RouteError, Routed};

pub(crate) use query::{Query, to_json};

use crate::{dialect::RestDialect, json};

/// The media type of HTTP+JSON requests and responses (section 11.1 "Protocol Requirements").
pub const CONTENT_TYPE: &str = "application/a2a+json";

/// A request of a client, relative to the URL of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The verb.
    pub method: http::Method,
    /// The path, which begins with `/`, and the query, if any. Both are percent-encoded.
    pub path: String,
    /// The body, in the [content type](RestDialect::content_type) of the dialect.
    pub body: Option<Vec<u8>>,
}

impl Outgoing {
    pub(crate) fn get(query: Query) -> Self {
        Self { method: http::Method::GET, path: query.finish(), body: None }
    }

    pub(crate) fn post(path: String, body: &impl serde::Serialize) -> Self {
        let mut to = Vec::with_capacity(256);
        json::write(body, &mut to);
        Self { method: http::Method::POST, path, body: Some(to) }
    }

    /// Replaces GET by POST and POST by GET, and removes the body.
    pub(crate) fn with_other_verb(self) -> Self {
        let method = if self.method == http::Method::GET { http::Method::POST } else { http::Method::GET };
        Self { method, path: self.path, body: None }
    }

    pub(crate) fn delete(path: String) -> Self {
        Self { method: http::Method::DELETE, path, body: None }
    }
}

/// Whether a body of this content type is JSON: `application/json`, `application/a2a+json`, or any type with `+json`.
pub fn is_json(content_type: &str) -> bool {
    // The fast path: nearly all requests have exactly this type.
    if content_type == "application/json" {
        return true;
    }
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.split_once('/').is_some_and(|(_, subtype)| subtype == "json" || subtype.ends_with("+json"))
}

/// Checks that a body is declared as JSON. An empty body needs no media type.
///
/// A page in a browser can send a body of an undeclared type, or of a form or a text, to any server without asking the
/// server first. A JSON media type makes the browser ask (Fetch standard, section 3.2.5 HTTP requests, preflight).
///
/// # Errors
///
/// `ContentTypeNotSupported`, which names the media type to send.
pub fn check_media_type(dialect: &dyn RestDialect, content_type: Option<&str>, body: &[u8]) -> Result<(), Error> {
    if body.is_empty() || content_type.is_some_and(is_json) {
        return Ok(());
    }
    Err(not_json(dialect.content_type(), content_type))
}

/// The error for a body with an absent media type or a media type other than JSON.
pub fn not_json(expected: &str, content_type: Option<&str>) -> Error {
    let or_json = if expected == "application/json" { "" } else { " or application/json" };
    let message = match content_type {
        Some(other) => format!("the Content-Type of the body must be {expected}{or_json}, not {other}"),
        None => format!("the body has no Content-Type: send Content-Type: {expected}"),
    };
    Error::new(ErrorKind::ContentTypeNotSupported, message)
}

/// Reads and checks a call.
///
/// # Errors
///
/// The errors of [`check_media_type`], `Parse` if the body is not JSON, and `InvalidParams`, which names the field.
pub fn decode_call(
    dialect: &dyn RestDialect,
    routed: &Routed,
    query: Option<&str>,
    content_type: Option<&str>,
    body: &[u8],
) -> Result<Call, Error> {
    check_media_type(dialect, content_type, body)?;
    dialect.decode_call(routed, query, body)
}
