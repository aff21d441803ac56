//! Reading a request's body: whole, bounded in size and in time.

use std::{pin::pin, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use http::{HeaderMap, header::CONTENT_LENGTH};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use nuncio_model::{Error, ErrorKind};

use crate::body::{BoxError, RequestBody};

/// What bounds the body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// In bytes.
    pub(crate) size: usize,
    /// From the head of the request to the end of its body.
    pub(crate) time: Duration,
}

impl BodyLimits {
    /// Refuses a body that says it is too large, before any of it is read.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Error> {
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > self.size as u64) { Err(self.too_large()) } else { Ok(()) }
    }

    pub(crate) fn too_large(&self) -> Error {
        let message = format!("the body is over the limit of {} bytes", self.size);
        Error::new(ErrorKind::PayloadTooLarge, message).with_metadata("limit", self.size.to_string())
    }

    pub(crate) fn too_slow(&self) -> Error {
        let message = format!("the body did not arrive within {} s", self.time.as_secs());
        Error::new(ErrorKind::DeadlineExceeded, message)
    }
}

/// Reads a body to its end.
///
/// Fails with `PayloadTooLarge`, with `DeadlineExceeded`, and with `InvalidRequest` where the client broke off.
pub(crate) async fn read_body(body: RequestBody, headers: &HeaderMap, limits: BodyLimits) -> Result<Bytes, Error> {
    limits.check(headers)?;
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let mut whole = pin!(collect(body, limits));
    // What is there already needs no timer.
    match (&mut whole).now_or_never() {
        Some(bytes) => bytes,
        None => tokio::time::timeout(limits.time, whole).await.unwrap_or_else(|_| Err(limits.too_slow())),
    }
}

async fn collect(mut body: RequestBody, limits: BodyLimits) -> Result<Bytes, Error> {
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    if first.len() > limits.size {
        return Err(limits.too_large());
    }
    if body.is_end_stream() {
        return Ok(first);
    }
    let Some(second) = next(&mut body).await? else { return Ok(first) };
    let rest = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX).min(limits.size);
    let mut whole = BytesMut::with_capacity(first.len() + second.len() + rest);
    whole.extend_from_slice(&first);
    let mut more = Some(second);
    while let Some(data) = more {
        if whole.len() + data.len() > limits.size {
            return Err(limits.too_large());
        }
        whole.extend_from_slice(&data);
        more = next(&mut body).await?;
    }
    Ok(whole.freeze())
}

/// The next piece of data; trailers are nothing to us.
async fn next(body: &mut RequestBody) -> Result<Option<Bytes>, Error> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(broken_off).map(Frame::into_data)? {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn broken_off(error: BoxError) -> Error {
    Error::new(ErrorKind::InvalidRequest, "the body broke off").with_source(error)
}
