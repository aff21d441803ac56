//! The events of a stream that are being sent. A large event counts. If no room is left, the event waits, and the
//! stream has the same delay as a stream with a slow reader.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use nuncio_model::{Error, EventStream, Method, Principal, StreamEvent, weight};

use super::{Answers, LARGE, is_safe};

type Next = Option<Result<Arc<StreamEvent>, Error>>;

/// A stream of events, and the event that waits.
pub(crate) struct Outgoing {
    events: EventStream,
    /// The event that was taken from the stream and waits.
    next: Option<Next>,
    /// Is ready when the next event may have room.
    room: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    answers: Arc<Answers>,
}

/// An event that was taken from a stream.
pub(crate) enum Taken {
    /// A small event, not encoded yet.
    Small(Arc<StreamEvent>),
    /// The bytes of a large event, which count until they are dropped, and the event's number in the log.
    Large(Bytes, Option<u64>),
}

impl Outgoing {
    /// Polls the first event once.
    pub(crate) fn new(mut events: EventStream, answers: &Arc<Answers>) -> Self {
        // The next poll registers its own waker.
        let next = match events.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => Some(next),
            Poll::Pending => None,
        };
        Self { events, next, room: None, answers: Arc::clone(answers) }
    }

    /// Takes the first event, if the event is ready and large. If no room is left, the event waits, unless the call can
    /// be repeated.
    ///
    /// Fails as [`Answers::of_event`] does.
    pub(crate) fn first(
        &mut self,
        method: Method,
        principal: &Principal,
        encode: impl FnOnce(&StreamEvent) -> Bytes,
    ) -> Result<Option<Taken>, Error> {
        let is_large = |next: &Next| matches!(next, Some(Ok(event)) if is_large(event));
        match self.next.take_if(|next| is_large(next)) {
            Some(Some(Ok(event))) => match self.take(event, principal, encode) {
                Err(error) if is_safe(method) => Err(error),
                taken => Ok(taken.ok()),
            },
            _ => Ok(None),
        }
    }

    /// The next event; `encode` encodes large events.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        principal: &Principal,
        encode: impl Fn(&StreamEvent) -> Bytes,
    ) -> Poll<Option<Result<Taken, Error>>> {
        loop {
            if let Some(room) = &mut self.room {
                ready!(room.as_mut().poll(cx));
                self.room = None;
            }
            let next = match self.next.take() {
                Some(next) => next,
                None => ready!(self.events.as_mut().poll_next(cx)),
            };
            let event = match next {
                Some(Ok(event)) => event,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            };
            if !is_large(&event) {
                return Poll::Ready(Some(Ok(Taken::Small(event))));
            }
            if let Ok(taken) = self.take(event, principal, &encode) {
                return Poll::Ready(Some(Ok(taken)));
            }
        }
    }

    /// Counts a large event. If no room is left, the event becomes the next event again.
    fn take(
        &mut self,
        event: Arc<StreamEvent>,
        principal: &Principal,
        encode: impl FnOnce(&StreamEvent) -> Bytes,
    ) -> Result<Taken, Error> {
        // Before the check of the counts, so that an answer that ends after the check is not missed.
        let room = self.answers.room();
        let carried = weight::of_event(&event.response);
        match self.answers.of_event(principal, carried, event.keeps_encodings(), || encode(&event)) {
            Ok(bytes) => Ok(Taken::Large(bytes, event.sequence)),
            Err(error) => {
                self.next = Some(Some(Ok(event)));
                self.room = Some(Box::pin(room));
                Err(error)
            }
        }
    }
}

fn is_large(event: &StreamEvent) -> bool {
    weight::reaches(&event.response, LARGE)
}
