//! Bodies of responses: messages, then the trailers that say how it went.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame};
use nuncio_engine::admission::RETRY_AFTER;
use nuncio_model::{Error, ErrorKind, EventStream, StreamEvent};
use nuncio_wire::{
    GrpcDialect,
    proto::{frame, metadata},
};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::deadline::Deadline;
use crate::{
    body::BoxError,
    drain::Drain,
    frame::{BATCH, FULL, Room},
    load::StreamPermit,
};

/// The last event that the client was sent, for resuming.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// The trailers of a call that went well.
pub(super) fn success() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(metadata::STATUS, HeaderValue::from_static("0"));
    trailers
}

/// One message, and that all went well.
pub(crate) struct Single(VecDeque<Frame<Bytes>>);

impl Single {
    /// `message` with its frame header.
    pub(crate) fn new(message: Vec<u8>) -> Self {
        Self([Frame::data(message.into()), Frame::trailers(success())].into())
    }
}

impl Body for Single {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Polled {
        Poll::Ready(self.0.pop_front().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

pin_project_lite::pin_project! {
    /// The events of a stream, as many at once as are ready, and how it ended.
    ///
    /// When the server drains, it ends as soon as there is nothing more to say, with `UNAVAILABLE`: the client comes
    /// back with the id of the last event. Dropping it frees the reader.
    pub(crate) struct Many {
        dialect: &'static dyn GrpcDialect,
        events: Option<EventStream>,
        room: Room,
        deadline: Deadline,
        #[pin]
        draining: WaitForCancellationFutureOwned,
        last: Option<u64>,
        outcome: Option<HeaderMap>,
        permit: StreamPermit,
    }
}

impl Many {
    pub(crate) fn new(
        dialect: &'static dyn GrpcDialect,
        events: EventStream,
        deadline: Deadline,
        drain: &Drain,
        permit: StreamPermit,
    ) -> Self {
        let draining = drain.streams_end();
        Self {
            dialect,
            events: Some(events),
            room: Room::default(),
            deadline,
            draining,
            last: None,
            outcome: None,
            permit,
        }
    }
}

impl Body for Many {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let this = self.project();
        if let Some(events) = this.events {
            let mut frame = Vec::new();
            let mut ended = fill(*this.dialect, events, this.room, this.last, &mut frame, cx);
            if ended.is_pending() {
                ended = this.deadline.poll(cx).map(Err);
            }
            if ended.is_pending() && frame.is_empty() {
                ended = this.draining.poll(cx).map(|()| Err(going_away()));
            }
            if let Poll::Ready(outcome) = ended {
                *this.events = None;
                *this.outcome = Some(trailers(*this.dialect, outcome, *this.last));
            }
            if !frame.is_empty() {
                this.room.learn(&frame);
                return Poll::Ready(Some(Ok(Frame::data(frame.into()))));
            }
            if this.events.is_some() {
                return Poll::Pending;
            }
        }
        Poll::Ready(this.outcome.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }
}

/// Writes the events that are ready; ready with the outcome where there are no more, pending where there may be.
fn fill(
    dialect: &dyn GrpcDialect,
    events: &mut EventStream,
    room: &Room,
    last: &mut Option<u64>,
    frame: &mut Vec<u8>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    for _ in 0..BATCH {
        let event = match events.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(event))) => event,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(None) => return Poll::Ready(Ok(())),
            Poll::Pending => break,
        };
        room.make(frame);
        let written = frame::write(frame, usize::MAX, |to| {
            write_event(dialect, &event, to);
            Ok(())
        });
        if let Err(error) = written {
            return Poll::Ready(Err(error));
        }
        *last = event.sequence.or(*last);
        if frame.len() >= FULL {
            break;
        }
    }
    Poll::Pending
}

fn write_event(dialect: &dyn GrpcDialect, event: &Arc<StreamEvent>, to: &mut Vec<u8>) {
    if event.keeps_encodings() {
        to.extend_from_slice(dialect.shared_event(event));
    } else {
        dialect.encode_event(&event.response, to);
    }
}

fn trailers(dialect: &dyn GrpcDialect, outcome: Result<(), Error>, last: Option<u64>) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    match outcome {
        Ok(()) => trailers = success(),
        Err(error) => dialect.write_error(&error, &mut trailers),
    }
    if let Some(last) = last {
        trailers.insert(LAST_EVENT_ID, HeaderValue::from(last));
    }
    trailers
}

pub(super) fn going_away() -> Error {
    Error::new(ErrorKind::Unavailable, "the server is going away; come back with the id of the last event")
        .with_retry_after(RETRY_AFTER)
}
