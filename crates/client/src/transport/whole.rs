//! An answer that was read to its end, and the error that it is where it is none of the protocol's.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use nuncio_model::Error;
use nuncio_wire::rest;

use crate::{failure::PeerCode, http::Answer};

pub(super) struct Whole {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    retry_after: Option<Duration>,
}

impl Whole {
    pub(super) async fn of(answer: Answer, limit: usize) -> Result<Self, Error> {
        let (status, retry_after) = (answer.status, answer.retry_after());
        Ok(Self { status, retry_after, body: answer.bytes(limit).await? })
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// The error of an answer that is not 2xx, whoever on the way gave it.
    pub(super) fn refusal(&self) -> Error {
        let error = rest::parse_error(self.status, &self.body).with_source(PeerCode::Http(self.status.as_u16()));
        match (self.retry_after, error.retry_after()) {
            (Some(after), None) => error.with_retry_after(after),
            _ => error,
        }
    }
}
