//! An answer whose body arrives in pieces.

use std::{pin::Pin, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;

use super::{classify, log, within};
use crate::failure::Failure;
use nuncio_http::redact::Redactor;

/// The head of an answer, and its unread body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) origin: String,
    body: Pin<Box<reqwest::Body>>,
    silence: Option<Duration>,
    stall: Option<Duration>,
    pub(super) redactor: Redactor,
}

/// A piece of a body.
pub(crate) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

impl Answer {
    pub(super) fn new(
        origin: String,
        response: reqwest::Response,
        (silence, stall): (Option<Duration>, Option<Duration>),
        redactor: Redactor,
    ) -> Self {
        let (head, body) = http::Response::from(response).into_parts();
        Self { status: head.status, headers: head.headers, origin, body: Box::pin(body), silence, stall, redactor }
    }

    /// Records that an event has arrived. From now on the limit of silence is the limit for a stream that can be
    /// resumed.
    pub(crate) fn note_event(&mut self) {
        self.silence = self.silence.into_iter().chain(self.stall).min();
    }

    /// The value of a header, if the value is text.
    pub(crate) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether the body has this media type.
    pub(crate) fn is(&self, media_type: &str) -> bool {
        let essence = self.header(header::CONTENT_TYPE).and_then(|it| it.split(';').next()).unwrap_or_default();
        essence.trim().eq_ignore_ascii_case(media_type)
    }

    /// The delay of `Retry-After`, in seconds.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        nuncio_http::retry_after(&self.headers)
    }

    /// The next piece of the body; `None` at its end. Fails if no byte arrives within the limit of silence.
    pub(crate) async fn next(&mut self) -> Result<Option<Piece>, Failure> {
        let Some(frame) = within(self.silence, &self.origin, self.body.frame()).await? else { return Ok(None) };
        let frame = frame.map_err(|error| classify::reading(&self.origin, error))?;
        match frame.into_data() {
            Ok(data) => {
                log::piece(&data, &self.headers, &self.redactor);
                Ok(Some(Piece::Data(data)))
            }
            Err(frame) => Ok(frame.into_trailers().ok().map(Piece::Trailers)),
        }
    }

    /// The whole body, up to a limit.
    pub(crate) async fn bytes(mut self, limit: usize) -> Result<Bytes, Failure> {
        let mut whole = BytesMut::new();
        while let Some(piece) = self.next().await? {
            let Piece::Data(data) = piece else { continue };
            if whole.len() + data.len() > limit {
                return Err(Failure::TooLarge { origin: self.origin, limit });
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }
}
