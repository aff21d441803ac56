//! Bodies of responses: messages, then trailers with the outcome.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame};
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{Error, ErrorKind, Method, Principal, StreamEvent, weight};
use nuncio_wire::{
    GrpcDialect,
    proto::{frame, metadata},
};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::deadline::Deadline;
use crate::{
    answers::{LARGE, Outgoing, Taken},
    body::BoxError,
    drain::Drain,
    frame::{BATCH, FULL, Room},
    load::StreamPermit,
};

/// The id of the last event that the client received, so that the client can resume.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// The trailers of a successful call.
pub(super) fn success() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(metadata::STATUS, HeaderValue::from_static("0"));
    trailers
}

/// One message and success.
pub(crate) struct Single(VecDeque<Frame<Bytes>>);

impl Single {
    /// `message` with its frame header.
    pub(crate) fn new(message: Bytes) -> Self {
        Self([Frame::data(message), Frame::trailers(success())].into())
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
    /// The events of a stream, with all ready events in one frame, and the outcome of the stream.
    ///
    /// When the server drains, the stream ends with `UNAVAILABLE` as soon as no event is ready; the client resumes with
    /// the id of the last event. A drop of the body frees the reader.
    pub(crate) struct Many {
        dialect: &'static dyn GrpcDialect,
        events: Option<Outgoing>,
        // The bytes that follow the last frame.
        pieces: VecDeque<Bytes>,
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
    /// Fails if the server has no room for the first event and the call can be repeated.
    pub(crate) fn new(
        dialect: &'static dyn GrpcDialect,
        method: Method,
        mut events: Outgoing,
        deadline: Deadline,
        drain: &Drain,
        permit: StreamPermit,
    ) -> Result<Self, Error> {
        let (mut pieces, mut last) = (VecDeque::new(), None);
        if let Some(Taken::Large(bytes, sequence)) =
            events.first(method, permit.principal(), |event| encode(dialect, event))?
        {
            pieces.extend([header(bytes.len())?.to_vec().into(), bytes]);
            last = sequence;
        }
        Ok(Self {
            dialect,
            events: Some(events),
            pieces,
            room: Room::default(),
            deadline,
            draining: drain.streams_end(),
            last,
            outcome: None,
            permit,
        })
    }
}

impl Body for Many {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let this = self.project();
        if let Some(piece) = this.pieces.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if let Some(events) = this.events {
            let mut filling = Filling { frame: Vec::new(), pieces: this.pieces, room: this.room, last: this.last };
            let mut ended = filling.fill(*this.dialect, events, this.permit.principal(), cx);
            let frame = filling.frame;
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

/// A frame, and the bytes that follow the frame.
struct Filling<'a> {
    frame: Vec<u8>,
    pieces: &'a mut VecDeque<Bytes>,
    room: &'a Room,
    last: &'a mut Option<u64>,
}

impl Filling<'_> {
    /// Writes the events that are ready. Ready with the outcome if the stream has ended; pending if more events may
    /// follow.
    fn fill(
        &mut self,
        dialect: &dyn GrpcDialect,
        events: &mut Outgoing,
        principal: &Principal,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        for _ in 0..BATCH {
            let event = match events.poll_next(cx, principal, |event| encode(dialect, event)) {
                Poll::Ready(Some(Ok(Taken::Small(event)))) => event,
                Poll::Ready(Some(Ok(Taken::Large(bytes, sequence)))) => {
                    match header(bytes.len()) {
                        Ok(header) => self.frame.extend_from_slice(&header),
                        Err(error) => return Poll::Ready(Err(error)),
                    }
                    self.pieces.push_back(bytes);
                    *self.last = sequence.or(*self.last);
                    break;
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            };
            self.room.make(&mut self.frame);
            let written = frame::write(&mut self.frame, usize::MAX, |to| {
                write_event(dialect, &event, to);
                Ok(())
            });
            if let Err(error) = written {
                return Poll::Ready(Err(error));
            }
            *self.last = event.sequence.or(*self.last);
            if self.frame.len() >= FULL {
                break;
            }
        }
        Poll::Pending
    }
}

/// The header of a message of this length.
fn header(length: usize) -> Result<[u8; frame::HEADER], Error> {
    let mut header = [0; frame::HEADER];
    let length = u32::try_from(length);
    let length = length.map_err(|_| Error::new(ErrorKind::PayloadTooLarge, "an event is too large for gRPC"))?;
    header[1..].copy_from_slice(&length.to_be_bytes());
    Ok(header)
}

fn write_event(dialect: &dyn GrpcDialect, event: &StreamEvent, to: &mut Vec<u8>) {
    if event.keeps_encodings() {
        to.extend_from_slice(dialect.shared_event(event));
    } else {
        dialect.encode_event(&event.response, to);
    }
}

/// The bytes of a large event.
fn encode(dialect: &dyn GrpcDialect, event: &StreamEvent) -> Bytes {
    if event.keeps_encodings() {
        return dialect.shared_event(event).clone();
    }
    let mut to = Vec::with_capacity(2 * weight::of_event(&event.response) + LARGE);
    dialect.encode_event(&event.response, &mut to);
    to.shrink_to_fit();
    to.into()
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
    Error::new(ErrorKind::Unavailable, "the server is shutting down; resume with the id of the last event")
        .with_retry_after(RETRY_AFTER)
}
