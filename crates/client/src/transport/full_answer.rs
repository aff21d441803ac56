//! A complete answer, and its error if the answer is not an answer of the protocol.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use nuncio_model::{Error, ErrorKind};
use nuncio_wire::{rest, status};
use serde::Deserialize;
use url::Url;

use crate::{
    failure::{Failure, PeerCode},
    http::{Answer, origin_of},
};

pub(super) struct FullAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    retry_after: Option<Duration>,
    is_html: bool,
}

impl FullAnswer {
    pub(super) async fn of(answer: Answer, limit: usize) -> Result<Self, Error> {
        let (status, retry_after) = (answer.status, answer.retry_after());
        let is_html = answer.is("text/html");
        let body = answer.bytes(limit).await?;
        let is_html = is_html || body.trim_ascii_start().starts_with(b"<");
        Ok(Self { status, body, retry_after, is_html })
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// Whether the answer is an error of HTTP+JSON: the code is the HTTP status. A server sends such an error if nothing
    /// is at the path of a call of JSON-RPC.
    pub(super) fn is_http_json_error(&self) -> bool {
        #[derive(Deserialize)]
        struct Body {
            error: Status,
        }
        #[derive(Deserialize)]
        struct Status {
            code: i64,
        }
        let code = || serde_json::from_slice::<Body>(&self.body).ok().map(|body| body.error.code);
        !self.is_success() && code() == Some(self.status.as_u16().into())
    }

    /// The error of an answer with a status other than 2xx, from the agent or from a proxy.
    pub(super) fn refusal(&self) -> Error {
        let read = rest::parse_error(self.status, &self.body);
        let error = if self.is_html { self.foreign(&read) } else { self.unless_nothing(read) };
        let error = error.with_source(PeerCode::Http(self.status.as_u16()));
        match (self.retry_after, error.retry_after()) {
            (Some(after), None) => error.with_retry_after(after),
            _ => error,
        }
    }

    /// An error of JSON-RPC with an HTTP status that is more precise than its code: missing credentials, or a temporary
    /// error. A reason in the details is more precise than the status.
    pub(super) fn with_http_status(&self, error: Error) -> Error {
        let kind = status::kind_of_http(self.status.as_u16());
        let has_reason = error.peer_details().and_then(status::kind_of_details).is_some();
        let error =
            if status::outranks_code(self.status.as_u16()) && !has_reason { error.with_kind(kind) } else { error };
        match (self.retry_after, error.retry_after()) {
            (Some(after), None) => error.with_retry_after(after),
            _ => error,
        }
    }

    /// The failure of a stream that is an empty answer.
    pub(super) fn check_filled(&self, origin: &Url) -> Result<(), Error> {
        if self.is_success() && self.body.trim_ascii().is_empty() {
            return Err(Failure::Empty { origin: origin_of(origin) }.into());
        }
        Ok(())
    }

    /// The error of a web page, which no agent sends. Most statuses of a web page have no meaning for A2A. Missing
    /// credentials, a missing path and a temporary error have the same meaning for all servers.
    fn foreign(&self, read: &Error) -> Error {
        use ErrorKind as Kind;
        let kind = match read.kind() {
            kind @ (Kind::Unauthenticated
            | Kind::PermissionDenied
            | Kind::MethodNotFound
            | Kind::DeadlineExceeded
            | Kind::PayloadTooLarge
            | Kind::HeadTooLarge
            | Kind::MisdirectedRequest
            | Kind::ResourceExhausted
            | Kind::Unavailable
            | Kind::Internal) => kind,
            _ => Kind::InvalidAgentResponse,
        };
        let reason = self.status.canonical_reason().unwrap_or("an error");
        Error::new(
            kind,
            format!("the answer is a web page ({} {reason}), not an answer of an agent", self.status.as_u16()),
        )
    }

    /// Servers also send 501 for unknown verbs. An agent sends a JSON object with its 501.
    fn unless_nothing(&self, read: Error) -> Error {
        let is_said = serde_json::from_slice::<serde_json::Map<String, nuncio_model::Value>>(&self.body).is_ok();
        if self.status != StatusCode::NOT_IMPLEMENTED || is_said {
            return read;
        }
        Error::new(ErrorKind::InvalidAgentResponse, read.message().to_owned())
    }
}
