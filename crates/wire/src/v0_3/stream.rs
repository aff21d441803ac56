//! Streams as this family has them, and as the model has them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use nuncio_model::{Error, EventStream, StreamEvent, StreamResponse, Task, TaskStatusUpdateEvent};

use super::message::is_final;

type Item = Result<Arc<StreamEvent>, Error>;

/// Server: ends a stream right after its first `final` event, and sees to it that it has one.
///
/// The events in between go through as they are, with their places in the log.
pub(super) struct UntilFinal {
    inner: Option<EventStream>,
    /// The last whole task, which no status event has followed yet.
    snapshot: Option<Arc<StreamEvent>>,
}

impl UntilFinal {
    pub(super) fn of(events: EventStream) -> EventStream {
        Box::pin(Self { inner: Some(events), snapshot: None })
    }
}

impl Stream for UntilFinal {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let this = &mut *self;
        let next = match &mut this.inner {
            Some(inner) => ready!(inner.as_mut().poll_next(cx)),
            None => return Poll::Ready(None),
        };
        let is_last = match &next {
            Some(Ok(event)) => match &event.response {
                StreamResponse::Task(_) => {
                    this.snapshot = Some(Arc::clone(event));
                    false
                }
                StreamResponse::StatusUpdate(update) => {
                    this.snapshot = None;
                    is_final(update)
                }
                StreamResponse::Message(_) => true,
                StreamResponse::ArtifactUpdate(_) => false,
            },
            Some(Err(_)) | None => true,
        };
        if is_last {
            this.inner = None;
        }
        Poll::Ready(match next {
            // The stream ended with a task and said nothing more of it.
            None => this.snapshot.take().and_then(|snapshot| match &snapshot.response {
                StreamResponse::Task(task) => Some(Ok(status_of(task))).filter(|_| is_over(task)),
                _ => None,
            }),
            next => next,
        })
    }
}

/// Whether a stream that ends with this task says so with its status.
fn is_over(task: &Task) -> bool {
    is_final(&update_of(task))
}

fn update_of(task: &Task) -> TaskStatusUpdateEvent {
    TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        status: task.status.clone(),
        metadata: None,
    }
}

/// The status of a task as an event of its own, which has no place in the log.
fn status_of(task: &Task) -> Arc<StreamEvent> {
    Arc::new(StreamEvent::new(None, StreamResponse::StatusUpdate(update_of(task))))
}

/// Events that are there already, and then those of a stream.
pub(super) struct Chained {
    first: std::vec::IntoIter<Arc<StreamEvent>>,
    rest: Option<EventStream>,
}

impl Chained {
    pub(super) fn of(first: Vec<Arc<StreamEvent>>, rest: Option<EventStream>) -> EventStream {
        Box::pin(Self { first: first.into_iter(), rest })
    }
}

impl Stream for Chained {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        if let Some(event) = self.first.next() {
            return Poll::Ready(Some(Ok(event)));
        }
        match &mut self.rest {
            Some(rest) => rest.as_mut().poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

/// The first item of a stream.
pub(super) async fn first(events: &mut EventStream) -> Option<Item> {
    std::future::poll_fn(|cx| events.as_mut().poll_next(cx)).await
}
