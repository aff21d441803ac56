//! Converts streams between this family and the model.

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
use crate::dialect::finality;

/// Server: ends a stream after its first `final` event, and adds a `final` event if the stream has none.
///
/// The events before it pass unchanged, with their sequence numbers.
pub(super) struct UntilFinal {
    /// `None` after the last event.
    inner: Option<EventStream>,
    /// Whether the stream follows the turn of a sent message.
    is_sent: bool,
    /// A question (`input-required`) that belongs to the turn of the message or to an earlier turn.
    question: Option<Arc<StreamEvent>>,
    /// The event after a question.
    next: Option<Result<Arc<StreamEvent>, Error>>,
    /// The latest event with a status that was not final.
    last_status: Option<Arc<StreamEvent>>,
}

impl UntilFinal {
    /// The stream of a sent message.
    pub(super) fn sent(events: EventStream) -> EventStream {
        Box::pin(Self { is_sent: true, ..Self::new(events) })
    }

    /// The stream of a watched task.
    pub(super) fn watched(events: EventStream) -> EventStream {
        Box::pin(Self::new(events))
    }

    fn new(events: EventStream) -> Self {
        Self { inner: Some(events), is_sent: false, question: None, next: None, last_status: None }
    }

    /// Takes the next event and returns the event to deliver, if any.
    fn pass(&mut self, event: Arc<StreamEvent>) -> Option<Arc<StreamEvent>> {
        match &event.response {
            StreamResponse::Message(_) => self.inner = None,
            StreamResponse::StatusUpdate(update) if is_final(update) => {
                if self.is_sent && update.status.state == TaskState::InputRequired {
                    self.question = Some(event);
                    return None;
                }
                self.inner = None;
            }
            StreamResponse::StatusUpdate(_) | StreamResponse::Task(_) => self.last_status = Some(Arc::clone(&event)),
            StreamResponse::ArtifactUpdate(_) => {}
        }
        Some(event)
    }

    /// The stream continues after the question, so the question did not belong to the turn of the message.
    fn pass_question(&mut self) -> Option<Arc<StreamEvent>> {
        let event = self.question.take()?;
        let StreamResponse::StatusUpdate(update) = &event.response else { return Some(event) };
        let mut update = update.clone();
        finality::set_last(&mut update, false);
        let event = Arc::new(StreamEvent::new(event.sequence, StreamResponse::StatusUpdate(update)));
        self.last_status = Some(Arc::clone(&event));
        Some(event)
    }
}

impl Stream for UntilFinal {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Arc<StreamEvent>, Error>>> {
        let this = &mut *self;
        loop {
            let Some(inner) = &mut this.inner else { return Poll::Ready(this.next.take()) };
            let next = match this.next.take() {
                Some(next) => Poll::Ready(Some(next)),
                None => inner.as_mut().poll_next(cx),
            };
            match next {
                Poll::Ready(Some(item)) if this.question.is_some() => {
                    this.next = Some(item);
                    return Poll::Ready(this.pass_question().map(Ok));
                }
                Poll::Ready(Some(Ok(event))) => {
                    if let Some(event) = this.pass(event) {
                        return Poll::Ready(Some(Ok(event)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    this.inner = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => {
                    this.inner = None;
                    let last = this.question.take().or_else(|| this.last_status.take().and_then(|event| last(&event)));
                    return Poll::Ready(last.map(Ok));
                }
                Poll::Pending if this.question.is_some() => return Poll::Ready(this.pass_question().map(Ok)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// The status of an event as the last event of a stream. The last event has no sequence number.
fn last(event: &StreamEvent) -> Option<Arc<StreamEvent>> {
    let mut update = match &event.response {
        StreamResponse::Task(task) => TaskStatusUpdateEvent {
            task_id: task.id.clone(),
            context_id: task.context_id.clone().unwrap_or_default(),
            status: task.status.clone(),
            metadata: None,
        },
        StreamResponse::StatusUpdate(update) => update.clone(),
        StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => return None,
    };
    if !is_final(&update) {
        finality::set_last(&mut update, true);
    }
    Some(Arc::new(StreamEvent::new(None, StreamResponse::StatusUpdate(update))))
}

/// Buffered events, followed by the rest of a stream.
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
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Arc<StreamEvent>, Error>>> {
        if let Some(event) = self.first.next() {
            return Poll::Ready(Some(Ok(event)));
        }
        match &mut self.rest {
            Some(rest) => rest.as_mut().poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

/// Client: makes a new stream begin with its task, if the stream of the peer begins with another event of the task.
pub(super) struct TaskFirst {
    inner: EventStream,
    is_under_way: bool,
    without_history: bool,
    /// The event that follows the inserted task.
    next: Option<Arc<StreamEvent>>,
}

impl TaskFirst {
    pub(super) fn of(events: EventStream, without_history: bool) -> EventStream {
        Box::pin(Self { inner: events, is_under_way: false, without_history, next: None })
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
        self.next = Some(event);
        task
    }
}

impl Stream for TaskFirst {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Arc<StreamEvent>, Error>>> {
        if let Some(event) = self.next.take() {
            return Poll::Ready(Some(Ok(event)));
        }
        let next = ready!(self.inner.as_mut().poll_next(cx));
        if std::mem::replace(&mut self.is_under_way, true) {
            return Poll::Ready(next);
        }
        Poll::Ready(next.map(|event| event.map(|event| self.begin(event))))
    }
}

/// A task with only its ids.
fn task_of(id: &TaskId, context_id: &ContextId) -> Arc<StreamEvent> {
    let task = Task {
        id: id.clone(),
        context_id: Some(context_id.clone()).filter(|id| !id.is_empty()),
        status: TaskStatus { state: TaskState::Submitted, ..TaskStatus::default() },
        ..Task::default()
    };
    Arc::new(StreamEvent::new(None, StreamResponse::Task(task)))
}

/// Returns the task without its history.
pub(super) fn without_history(mut task: Task) -> Task {
    task.history.clear();
    task
}
