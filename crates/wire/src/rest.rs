//! HTTP+JSON (section 11): what its versions share. Paths, queries and bodies are the version's, behind
//! [`RestDialect`].
//!
//! Server: [`Versions::for_path`](crate::Versions::for_path), then [`decode_call`], then
//! [`RestDialect::encode_reply`] or [`write_error`]. Client: [`RestDialect::encode_call`],
//! then the dialect's `decode_reply` on a 2xx body, else [`parse_error`].

mod error;
mod query;
mod route;

pub(crate) mod path;
pub(crate) mod resource;

use nuncio_model::{Call, Error, ErrorKind};

pub use error::{parse_error, write_error, write_refusal};

pub(crate) use error::encode_error;
pub use query::query_pairs;
pub use route::{RouteError, Routed};

pub(crate) use query::{Query, to_json};

use crate::{dialect::RestDialect, json};

/// What requests and responses of HTTP+JSON are sent as (REST-1).
pub const CONTENT_TYPE: &str = "application/a2a+json";

/// A request to be sent, relative to the URL of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The verb.
    pub method: http::Method,
    /// The path, beginning with `/`, and the query where there is one; percent-encoded.
    pub path: String,
    /// The body, of the dialect's [content type](RestDialect::content_type).
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

    /// With GET for POST and POST for GET, and without a body.
    pub(crate) fn with_other_verb(self) -> Self {
        let method = if self.method == http::Method::GET { http::Method::POST } else { http::Method::GET };
        Self { method, path: self.path, body: None }
    }

    pub(crate) fn delete(path: String) -> Self {
        Self { method: http::Method::DELETE, path, body: None }
    }
}

/// Whether a body of this content type is JSON: `application/json`, `application/a2a+json`, anything with `+json`.
pub fn is_json(content_type: &str) -> bool {
    // What nearly all say needs no closer look.
    if content_type == "application/json" {
        return true;
    }
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.split_once('/').is_some_and(|(_, subtype)| subtype == "json" || subtype.ends_with("+json"))
}

/// Reads and checks a call.
///
/// Fails with `ContentTypeNotSupported` where a body says it is not JSON (an absent content type is taken for JSON, and
/// an empty body needs none), with `Parse` where the body is not JSON, and with `InvalidParams` that names the field.
pub fn decode_call(
    dialect: &dyn RestDialect,
    routed: &Routed,
    query: Option<&str>,
    content_type: Option<&str>,
    body: &[u8],
) -> Result<Call, Error> {
    if !body.is_empty()
        && let Some(other) = content_type.filter(|it| !is_json(it))
    {
        let accepted = dialect.content_type();
        let or_json = if accepted == "application/json" { "" } else { " or application/json" };
        let message = format!("the body must be {accepted}{or_json}, not {other}");
        return Err(Error::new(ErrorKind::ContentTypeNotSupported, message));
    }
    dialect.decode_call(routed, query, body)
}
