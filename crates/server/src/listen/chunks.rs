//! A body in chunks, so that the server can observe whether the client reads.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::streams::{note_chunk, note_taken};

/// The size of a chunk in bytes: the largest frame that every client of HTTP/2 accepts (RFC 9113, section 4.2).
const CHUNK: usize = 16 * 1024;

pin_project_lite::pin_project! {
    /// Divides the frames of a body into chunks.
    ///
    /// hyper polls for the next chunk when the windows of HTTP/2 have taken the last chunk. This is independent of the
    /// size of the frames, so a slow client can be distinguished from a client that does not read.
    pub(super) struct Chunks<B> {
        #[pin]
        body: B,
        rest: Bytes,
    }
}

impl<B> Chunks<B> {
    pub(super) fn new(body: B) -> Self {
        Self { body, rest: Bytes::new() }
    }
}

impl<B: Body<Data = Bytes>> Body for Chunks<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        if this.rest.is_empty() {
            note_taken();
            match ready!(this.body.poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => *this.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        note_chunk();
        let chunk = this.rest.split_to(this.rest.len().min(CHUNK));
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut whole = SizeHint::new();
        if let Some(upper) = body.upper() {
            whole.set_upper(upper.saturating_add(rest));
        }
        whole.set_lower(body.lower().saturating_add(rest));
        whole
    }
}
