//! Converts streams of a 0.1 peer to the form of 1.0: the task comes first, and every event has its context.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use nuncio_model::{Error, EventStream, StreamEvent, StreamResponse, Task, TaskState, TaskStatus};

use crate::{dialect::is_marked_last, v0_1::event::is_stop};

/// The stream of a sent message. The task is delivered with the first event, which has the current status.
pub(super) fn sent(events: EventStream, task: Task) -> EventStream {
    Box::pin(CompletedEvents { events: Some(events), next: None, is_task_delivered: false, task })
}

/// The stream of a watched task, which begins with the task.
pub(super) fn watched(events: EventStream, task: Task) -> EventStream {
    let first = (None, snapshot(&task));
    Box::pin(CompletedEvents { events: Some(events), next: Some(first), is_task_delivered: true, task })
}

/// The stream of a resumed subscription. The task was delivered before, so the stream begins with the next event.
pub(super) fn resumed(events: EventStream, task: Task) -> EventStream {
    Box::pin(CompletedEvents { events: Some(events), next: None, is_task_delivered: true, task })
}

/// The stream of a task that has ended: only the task.
pub(super) fn ended(task: Task) -> EventStream {
    let first = (None, snapshot(&task));
    Box::pin(CompletedEvents { events: None, next: Some(first), is_task_delivered: true, task })
}

fn snapshot(task: &Task) -> StreamResponse {
    StreamResponse::Task(task.clone())
}

struct CompletedEvents {
    /// `None` after the last event.
    events: Option<EventStream>,
    /// An event to deliver before the next read, with its sequence number.
    next: Option<(Option<u64>, StreamResponse)>,
    /// Whether the task was delivered.
    is_task_delivered: bool,
    task: Task,
}

impl CompletedEvents {
    /// Converts an event to the form of 1.0. If the task was not delivered yet, the task comes first. Each event has
    /// its sequence number.
    fn complete(&mut self, sequence: Option<u64>, response: StreamResponse) -> (Option<u64>, StreamResponse) {
        let (id, context) = (self.task.id.clone(), self.task.context_id.clone().unwrap_or_default());
        match response {
            StreamResponse::StatusUpdate(mut update) => {
                if is_stop(update.status.state) || is_marked_last(update.metadata.as_deref()) {
                    // The peer can keep the connection open, but sends no more events.
                    self.events = None;
                }
                if let Some(message) = &mut update.status.message {
                    message.task_id = Some(id.clone());
                    message.context_id = Some(context.clone());
                }
                if self.is_task_delivered {
                    update.task_id = id;
                    update.context_id = context;
                    return (sequence, StreamResponse::StatusUpdate(update));
                }
                self.is_task_delivered = true;
                self.task.status = update.status;
                if self.task.metadata.is_none() {
                    self.task.metadata = update.metadata;
                }
                (sequence, snapshot(&self.task))
            }
            StreamResponse::ArtifactUpdate(mut update) => {
                update.task_id = id;
                update.context_id = context;
                let response = StreamResponse::ArtifactUpdate(update);
                if std::mem::replace(&mut self.is_task_delivered, true) {
                    return (sequence, response);
                }
                self.next = Some((sequence, response));
                self.task.status = TaskStatus { state: TaskState::Working, ..TaskStatus::default() };
                (None, snapshot(&self.task))
            }
            other => (sequence, other),
        }
    }
}

impl Stream for CompletedEvents {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some((sequence, response)) = this.next.take() {
            return Poll::Ready(Some(Ok(Arc::new(StreamEvent::new(sequence, response)))));
        }
        let Some(events) = &mut this.events else { return Poll::Ready(None) };
        match ready!(events.as_mut().poll_next(cx)) {
            Some(Ok(event)) => {
                let (sequence, response) = this.complete(event.sequence, event.response.clone());
                Poll::Ready(Some(Ok(Arc::new(StreamEvent::new(sequence, response)))))
            }
            other => {
                this.events = None;
                Poll::Ready(other)
            }
        }
    }
}
