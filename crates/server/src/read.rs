//! Reads the body of a request, with limits of size and time.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use http::{
    HeaderMap,
    header::{CONTENT_LENGTH, EXPECT},
};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use nuncio_limit::{Gauge, Permit};
use nuncio_model::{Error, ErrorKind, Principal, Size};

use crate::{
    body::{BoxError, RequestBody},
    head,
};

/// The limits of a request's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// In bytes.
    pub(crate) size: usize,
    /// Bytes of the binding's framing, which are not part of the limited size.
    pub(crate) framing: usize,
    /// From the head of the request to the end of its body.
    pub(crate) time: Duration,
}

impl BodyLimits {
    /// Whether a body of this many bytes is too large.
    fn is_exceeded(&self, size: usize) -> bool {
        size > self.size.saturating_add(self.framing)
    }

    /// Refuses a body that declares too large a size, before any part of the body is read.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Error> {
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| self.is_exceeded(usize::try_from(length).unwrap_or(usize::MAX))) {
            Err(self.too_large())
        } else {
            Ok(())
        }
    }

    pub(crate) fn too_large(&self) -> Error {
        let message = format!("the body is over the limit of {}", Size::of(self.size));
        Error::new(ErrorKind::PayloadTooLarge, message).with_metadata("limit", "body")
    }

    pub(crate) fn too_slow(&self) -> Error {
        let message = format!("the body did not arrive within {:?}", self.time);
        Error::new(ErrorKind::DeadlineExceeded, message).with_metadata("limit", "body_time")
    }
}

/// The body of a request. Its bytes count until the body is dropped.
pub(crate) struct FullBody {
    pub(crate) bytes: Bytes,
    _counted: Option<Permit>,
}

/// Reads a body to its end, for this caller.
///
/// Fails with `PayloadTooLarge`, with `DeadlineExceeded`, with `InvalidRequest` if the client broke off, and as
/// [`Gauge::take`] does if the bodies of current requests have too many bytes.
pub(crate) async fn read_body(
    mut body: RequestBody,
    headers: &HeaderMap,
    limits: BodyLimits,
    gauge: &Arc<Gauge>,
    principal: &Principal,
) -> Result<FullBody, Error> {
    if let Err(too_large) = limits.check(headers) {
        // A client with `Expect: 100-continue` gets no permission to send the body, so no body arrives.
        if !headers.contains_key(EXPECT) {
            Box::pin(drain(&mut body)).await;
        }
        return Err(too_large);
    }
    head::refuse_encoding(headers)?;
    if body.is_end_stream() {
        return Ok(FullBody { bytes: Bytes::new(), _counted: None });
    }
    let mut permit = gauge.take(principal, 0)?;
    let first = next(&mut body).now_or_never();
    let bytes = match first {
        // A body that has arrived completely needs no timer and no reservation.
        Some(Ok(Some(first))) if body.is_end_stream() => take(first, limits, &mut permit),
        first => {
            let whole = Box::pin(collect(&mut body, first, limits, &mut permit));
            tokio::time::timeout(limits.time, whole).await.unwrap_or_else(|_| Err(limits.too_slow()))
        }
    };
    if bytes.as_ref().is_err_and(|error| error.kind() == ErrorKind::PayloadTooLarge) {
        // The body did not declare its size. The part that was read no longer counts.
        drop(permit);
        Box::pin(drain(&mut body)).await;
        return Err(limits.too_large());
    }
    Ok(FullBody { bytes: bytes?, _counted: Some(permit) })
}

/// The number of bytes of a refused body that the server still reads, and the time for this.
const DRAINED: usize = 64 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Reads and discards a refused body, within limits. A client that still writes when the connection closes sees a
/// broken connection instead of the answer.
async fn drain(body: &mut RequestBody) {
    let read = async {
        let mut left = DRAINED;
        while let Ok(Some(data)) = next(body).await
            && left > 0
        {
            left = left.saturating_sub(data.len());
        }
    };
    // Beyond these limits the client does not get the answer.
    let _ = tokio::time::timeout(DRAIN_TIME, read).await;
}

/// Takes the first piece of a body.
fn take(first: Bytes, limits: BodyLimits, counted: &mut Permit) -> Result<Bytes, Error> {
    if limits.is_exceeded(first.len()) {
        return Err(limits.too_large());
    }
    counted.grow(first.len())?;
    Ok(first)
}

/// Reads a body of which the first piece may have arrived.
async fn collect(
    body: &mut RequestBody,
    first: Option<Result<Option<Bytes>, Error>>,
    limits: BodyLimits,
    counted: &mut Permit,
) -> Result<Bytes, Error> {
    let first = match first {
        Some(first) => first,
        None => next(body).await,
    };
    let Some(first) = first? else { return Ok(Bytes::new()) };
    let first = take(first, limits, counted)?;
    if body.is_end_stream() {
        return Ok(first);
    }
    let Some(second) = next(body).await? else { return Ok(first) };
    let rest = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX).min(limits.size);
    // The reservation for the rest of the body counts, too.
    let mut room = second.len() + rest;
    counted.grow(room)?;
    let mut whole = BytesMut::with_capacity(first.len() + room);
    whole.extend_from_slice(&first);
    let mut more = Some(second);
    while let Some(data) = more {
        if limits.is_exceeded(whole.len() + data.len()) {
            return Err(limits.too_large());
        }
        counted.grow(data.len().saturating_sub(room))?;
        room = room.saturating_sub(data.len());
        whole.extend_from_slice(&data);
        more = next(body).await?;
    }
    Ok(whole.freeze())
}

/// The next piece of data. Trailers are ignored.
async fn next(body: &mut RequestBody) -> Result<Option<Bytes>, Error> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(broken_off).map(Frame::into_data)? {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn broken_off(error: BoxError) -> Error {
    Error::new(ErrorKind::InvalidRequest, "the body is incomplete").with_source(error)
}
