//! The body of a stream: events of the engine as server-sent events (sections 9.4.2 and 11.7). An error after the first
//! event is the last event of the stream.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use nuncio_model::{Error, Method, StreamEvent, weight};
use nuncio_wire::{Events, JsonRpcDialect, RestDialect, jsonrpc, rest, sse};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::{
    answers::{LARGE, Outgoing, Taken},
    body::Body,
    drain::Drain,
    frame::{BATCH, FULL, Room},
    load::StreamPermit,
};

/// The end of an event.
const END: &str = "\n\n";

/// The frame of an event.
pub(crate) enum Envelope {
    /// A JSON-RPC response with the id of the request.
    JsonRpc(&'static dyn JsonRpcDialect, jsonrpc::Id),
    /// HTTP+JSON has no frame.
    Bare(&'static dyn RestDialect),
}

impl Envelope {
    fn write_event(&self, event: &Arc<StreamEvent>, to: &mut Vec<u8>) {
        let is_shared = event.keeps_encodings();
        sse::write_with(event.sequence, to, |to| match self {
            Self::Bare(dialect) => write_response(*dialect, event, is_shared, to),
            Self::JsonRpc(dialect, id) => {
                let Ok(()) = jsonrpc::write_result(id, to, |to| {
                    write_response(*dialect, event, is_shared, to);
                    Ok::<_, std::convert::Infallible>(())
                });
            }
        });
    }

    /// The bytes of a large event, without the frame.
    fn encode(&self, event: &StreamEvent) -> Bytes {
        let json = match self {
            Self::JsonRpc(dialect, _) => encode(*dialect, event),
            Self::Bare(dialect) => encode(*dialect, event),
        };
        sse::escaped(json)
    }

    /// Writes the frame before the bytes of a large event, and returns the frame behind the bytes.
    fn surround(&self, sequence: Option<u64>, to: &mut Vec<u8>) -> Bytes {
        // Counts the bytes behind the event, because escapes can make the part before the event longer.
        let mut behind = END.len();
        sse::write_with(sequence, to, |to| {
            if let Self::JsonRpc(_, id) = self {
                let mut at = 0;
                let Ok(()) = jsonrpc::write_result(id, to, |to| {
                    at = to.len();
                    Ok::<_, std::convert::Infallible>(())
                });
                behind += to.len() - at;
            }
        });
        to.split_off(to.len() - behind).into()
    }

    /// An error after the first event is the last event of a stream.
    fn write_error(&self, error: &Error, to: &mut Vec<u8>) {
        match self {
            Self::Bare(dialect) => sse::write_named("error", &rest::write_error(*dialect, error).1, to),
            Self::JsonRpc(dialect, id) => {
                sse::write_with(None, to, |to| jsonrpc::write_error(*dialect, id, error, to));
            }
        }
    }
}

fn stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn write_response<D: Events + ?Sized>(dialect: &D, event: &StreamEvent, is_shared: bool, to: &mut Vec<u8>) {
    if is_shared {
        to.extend_from_slice(dialect.shared_event(event));
    } else {
        dialect.encode_event(&event.response, to);
    }
}

fn encode<D: Events + ?Sized>(dialect: &D, event: &StreamEvent) -> Bytes {
    if event.keeps_encodings() {
        return dialect.shared_event(event).clone();
    }
    let mut to = Vec::with_capacity(2 * weight::of_event(&event.response) + LARGE);
    dialect.encode_event(&event.response, &mut to);
    to.shrink_to_fit();
    to.into()
}

pin_project_lite::pin_project! {
    /// Polls the events and puts all ready events into one frame.
    ///
    /// A silent stream carries comments. When the server drains, the stream ends as soon as no event is ready; the
    /// client resumes with the id of the last event. A drop of the body frees the reader.
    pub(crate) struct EventBody {
        events: Option<Outgoing>,
        // The bytes that follow the last frame.
        pieces: VecDeque<Bytes>,
        envelope: Envelope,
        room: Room,
        keep_alive: Duration,
        #[pin]
        silence: Sleep,
        #[pin]
        draining: WaitForCancellationFutureOwned,
        permit: StreamPermit,
    }
}

impl EventBody {
    /// The response of a stream.
    ///
    /// Fails if the server has no room for the first event and the call can be repeated.
    pub(crate) fn response(
        method: Method,
        mut events: Outgoing,
        envelope: Envelope,
        keep_alive: Duration,
        drain: &Drain,
        permit: StreamPermit,
    ) -> Result<Response<Body>, Error> {
        let mut pieces = VecDeque::new();
        if let Some(Taken::Large(bytes, sequence)) =
            events.first(method, permit.principal(), |event| envelope.encode(event))?
        {
            let mut begin = Vec::new();
            let end = envelope.surround(sequence, &mut begin);
            pieces.extend([begin.into(), bytes, end]);
        }
        let body = Self {
            events: Some(events),
            pieces,
            envelope,
            room: Room::default(),
            keep_alive,
            silence: tokio::time::sleep(keep_alive),
            draining: drain.streams_end(),
            permit,
        };
        Ok(stream(Body::Events(Box::pin(body))))
    }

    /// The response of a stream with only this error.
    pub(crate) fn refusal(envelope: &Envelope, error: &Error) -> Response<Body> {
        let mut body = Vec::with_capacity(512);
        envelope.write_error(error, &mut body);
        stream(Body::full(body))
    }

    pub(crate) fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut this = self.project();
        if let Some(piece) = this.pieces.pop_front() {
            this.silence.as_mut().reset(Instant::now() + *this.keep_alive);
            return Poll::Ready(Some(piece));
        }
        let Some(events) = this.events else { return Poll::Ready(None) };
        let mut frame = Vec::new();
        let mut has_ended = false;
        for _ in 0..BATCH {
            match events.poll_next(cx, this.permit.principal(), |event| this.envelope.encode(event)) {
                Poll::Ready(Some(Ok(Taken::Small(event)))) => {
                    this.room.make(&mut frame);
                    this.envelope.write_event(&event, &mut frame);
                }
                Poll::Ready(Some(Ok(Taken::Large(bytes, sequence)))) => {
                    let end = this.envelope.surround(sequence, &mut frame);
                    this.pieces.extend([bytes, end]);
                    break;
                }
                Poll::Ready(Some(Err(error))) => {
                    this.envelope.write_error(&error, &mut frame);
                    has_ended = true;
                }
                Poll::Ready(None) => has_ended = true,
                Poll::Pending => break,
            }
            if has_ended || frame.len() >= FULL {
                break;
            }
        }
        if has_ended {
            *this.events = None;
        }
        if !frame.is_empty() {
            this.room.learn(&frame);
            this.silence.as_mut().reset(Instant::now() + *this.keep_alive);
            return Poll::Ready(Some(frame.into()));
        }
        if has_ended || this.draining.as_mut().poll(cx).is_ready() {
            *this.events = None;
            return Poll::Ready(None);
        }
        if this.silence.as_mut().poll(cx).is_ready() {
            // After this frame, hyper polls for the next frame and so starts the timer again.
            this.silence.as_mut().reset(Instant::now() + *this.keep_alive);
            sse::write_comment("keep-alive", &mut frame);
            return Poll::Ready(Some(frame.into()));
        }
        Poll::Pending
    }
}
