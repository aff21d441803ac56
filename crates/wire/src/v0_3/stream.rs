//! Streams as this family has them, and as the model has them.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use nuncio_model::{
    ContextId, Error, EventStream, StreamEvent, StreamResponse, Task, TaskId, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};

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

/// Client: begins a new stream with its task, where the peer begins it with what happens to that task.
pub(super) struct Begun {
    inner: EventStream,
    is_under_way: bool,
    without_history: bool,
    /// The event before which the task was put.
    held: Option<Arc<StreamEvent>>,
}

impl Begun {
    pub(super) fn of(events: EventStream, without_history: bool) -> EventStream {
        Box::pin(Self { inner: events, is_under_way: false, without_history, held: None })
    }

    fn begin(&mut self, event: Arc<StreamEvent>) -> Arc<StreamEvent> {
        let (id, context_id) = match &event.response {
            StreamResponse::Task(task) if self.without_history && !task.history.is_empty() => {
                let task = StreamResponse::Task(without_history(task.clone()));
                return Arc::new(StreamEvent::new(event.sequence, task));
            }
            StreamResponse::Task(_) | StreamResponse::Message(_) => return event,
            StreamResponse::StatusUpdate(update) => (&update.task_id, &update.context_id),
            StreamResponse::ArtifactUpdate(update) => (&update.task_id, &update.context_id),
        };
        let task = task_of(id, context_id);
        self.held = Some(event);
        task
    }
}

impl Stream for Begun {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        if let Some(event) = self.held.take() {
            return Poll::Ready(Some(Ok(event)));
        }
        let next = ready!(self.inner.as_mut().poll_next(cx));
        if std::mem::replace(&mut self.is_under_way, true) {
            return Poll::Ready(next);
        }
        Poll::Ready(next.map(|event| event.map(|event| self.begin(event))))
    }
}

/// Whether the model lets a stream begin with this event.
pub(super) fn may_be_first(event: &StreamEvent) -> bool {
    matches!(&event.response, StreamResponse::Task(_) | StreamResponse::Message(_))
}

/// A task of which nothing more is known than its ids.
fn task_of(id: &TaskId, context_id: &ContextId) -> Arc<StreamEvent> {
    let task = Task {
        id: id.clone(),
        context_id: Some(context_id.clone()).filter(|id| !id.is_empty()),
        status: TaskStatus { state: TaskState::Submitted, ..TaskStatus::default() },
        ..Task::default()
    };
    Arc::new(StreamEvent::new(None, StreamResponse::Task(task)))
}

/// The task without its history.
pub(super) fn without_history(mut task: Task) -> Task {
    task.history.clear();
    task
}
