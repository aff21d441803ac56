//! A caller with prepared answers, and streams with all events available at once.

use std::{
    collections::VecDeque,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use nuncio_model::{Call, Caller, Calling, Error, EventStream, Reply, Request, Scope, StreamEvent, StreamResponse};
use nuncio_wire::{Dialect, dialect::Plan};

/// Returns its answers in order, and records the calls.
#[derive(Default)]
pub(super) struct Prepared {
    answers: Mutex<VecDeque<Result<Reply, Error>>>,
    asked: Mutex<Vec<Call>>,
}

impl Prepared {
    pub(super) fn with(answers: impl IntoIterator<Item = Result<Reply, Error>>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    pub(super) fn asked(&self) -> Vec<Call> {
        self.asked.lock().unwrap().clone()
    }

    /// Executes the plan of a server of this version for a call.
    pub(super) fn serve(&self, version: &dyn Dialect, call: impl Into<Call>) -> Result<Reply, Error> {
        self.execute(version.serve(Request::new(Scope::open(), call), self))
    }

    /// Executes the plan of a client of this version for a call.
    pub(super) fn ask(&self, version: &dyn Dialect, call: impl Into<Call>) -> Result<Reply, Error> {
        self.execute(version.ask(Request::new(Scope::open(), call), self))
    }

    fn execute(&self, plan: Plan<'_>) -> Result<Reply, Error> {
        match plan {
            Plan::Direct(request) => now(self.call(request)),
            Plan::Steps(steps) => now(steps),
        }
    }
}

impl Caller for Prepared {
    fn call(&self, request: Request) -> Calling<'_> {
        self.asked.lock().unwrap().push(request.call);
        let answer = self.answers.lock().unwrap().pop_front().expect("one more call than answers");
        Box::pin(std::future::ready(answer))
    }
}

/// The result of a future that is ready at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future is not ready"),
    }
}

/// A stream of available events, with sequence numbers from 1 as from an engine.
pub(super) fn stream(events: impl IntoIterator<Item = StreamResponse>) -> Reply {
    let events = (1..).zip(events).map(|(sequence, event)| Arc::new(StreamEvent::new(Some(sequence), event)));
    Reply::Events(Box::pin(Items(events.collect())))
}

struct Items(VecDeque<Arc<StreamEvent>>);

impl Stream for Items {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

/// A stream of these events that stays open.
pub(super) fn open(events: impl IntoIterator<Item = StreamResponse>) -> EventStream {
    struct Open(Items);
    impl Stream for Open {
        type Item = Result<Arc<StreamEvent>, Error>;
        fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.0.0.pop_front().map_or(Poll::Pending, |event| Poll::Ready(Some(Ok(event))))
        }
    }
    Box::pin(Open(Items(events.into_iter().map(|event| Arc::new(StreamEvent::new(None, event))).collect())))
}

/// A stream without events that stays open.
pub(super) fn quiet() -> EventStream {
    open([])
}

/// All events of a reply that ends, with their sequence numbers.
pub(super) fn all(reply: Result<Reply, Error>) -> Vec<(Option<u64>, StreamResponse)> {
    let (events, has_ended) = taken(reply);
    assert!(has_ended);
    events
}

/// The available events of a reply that does not end, with their sequence numbers.
pub(super) fn ready(reply: Result<Reply, Error>) -> Vec<(Option<u64>, StreamResponse)> {
    let (events, has_ended) = taken(reply);
    assert!(!has_ended);
    events
}

fn taken(reply: Result<Reply, Error>) -> (Vec<(Option<u64>, StreamResponse)>, bool) {
    let mut events: EventStream = reply.unwrap().try_into().unwrap();
    let mut all = Vec::new();
    loop {
        match events.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(event)) => {
                let event = event.unwrap();
                all.push((event.sequence, event.response.clone()));
            }
            Poll::Ready(None) => return (all, true),
            Poll::Pending => return (all, false),
        }
    }
}
