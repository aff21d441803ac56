//! The events of a stream on their way out. A large event counts; where there is no room for it, it waits, and its
//! stream falls behind its task like that of any slow reader.

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
    /// Taken from the stream already.
    next: Option<Next>,
    /// What the next event waits for.
    room: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    answers: Arc<Answers>,
}

/// An event that was taken from a stream.
pub(crate) enum Taken {
    /// It is to be written.
    Small(Arc<StreamEvent>),
    /// Its bytes, which count as long as they are there, and its place in the log.
    Large(Bytes, Option<u64>),
}

impl Outgoing {
    /// Looks at the first event, if it is there.
    pub(crate) fn new(mut events: EventStream, answers: &Arc<Answers>) -> Self {
        // Whoever polls for the next event leaves its waker.
        let next = match events.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(next) => Some(next),
            Poll::Pending => None,
        };
        Self { events, next, room: None, answers: Arc::clone(answers) }
    }

    /// Takes the first event, where it is there and large; it may wait, unless the call can be repeated.
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

    /// The next event; `encode` writes those that are large.
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

    /// Counts a large event; where there is no room, it is the next one again.
    fn take(
        &mut self,
        event: Arc<StreamEvent>,
        principal: &Principal,
        encode: impl FnOnce(&StreamEvent) -> Bytes,
    ) -> Result<Taken, Error> {
        // Before the look at what is counted, so that no answer that ends meanwhile is missed.
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
