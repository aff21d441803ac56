//! Converts streams for clients of 0.1. The stream has status and artifact events, artifacts are numbered in the order
//! of their first appearance (`index`), and the event with `final` ends the stream. Every stream ends with such an
//! event.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use nuncio_model::{
    Artifact, ArtifactId, ContextId, Error, EventStream, StreamEvent, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

use crate::{
    dialect::finality,
    v0_1::{
        event::{answered, is_stop},
        show,
        task::numbered,
    },
};

/// The stream of a sent message.
pub(super) fn sent(events: EventStream, server_id: TaskId, client_id: TaskId) -> EventStream {
    Box::pin(ClientStream { is_sent: true, ..ClientStream::new(Some(events), server_id, client_id) })
}

/// The stream of a watched task. If the client has already `seen` part of the task, the stream does not begin with the
/// task, and the artifacts keep their numbers.
pub(super) fn watched(events: EventStream, server_id: TaskId, client_id: TaskId, seen: Option<&Task>) -> EventStream {
    let mut shown = ClientStream::new(Some(events), server_id, client_id);
    if let Some(task) = seen {
        shown.numbers =
            (0..).zip(&task.artifacts).map(|(number, artifact)| (artifact.artifact_id.clone(), number)).collect();
        shown.status = task.status.clone();
    }
    Box::pin(shown)
}

/// The stream of a task that has ended.
pub(super) fn ended(task: &Task, client_id: TaskId) -> EventStream {
    let mut shown = ClientStream::new(None, task.id.clone(), client_id);
    shown.take_snapshot(None, task);
    Box::pin(shown)
}

struct ClientStream {
    /// `None` after the last event.
    events: Option<EventStream>,
    server_id: TaskId,
    client_id: TaskId,
    /// Whether the stream follows the turn of a sent message.
    is_sent: bool,
    is_first: bool,
    ready: VecDeque<Arc<StreamEvent>>,
    /// A question (`input-required`) that belongs to the turn of the message or to an earlier turn.
    question: Option<(Option<u64>, TaskStatusUpdateEvent)>,
    numbers: HashMap<ArtifactId, usize>,
    status: TaskStatus,
}

impl ClientStream {
    fn new(events: Option<EventStream>, server_id: TaskId, client_id: TaskId) -> Self {
        Self {
            events,
            server_id,
            client_id,
            is_sent: false,
            is_first: true,
            ready: VecDeque::new(),
            question: None,
            numbers: HashMap::new(),
            status: TaskStatus::default(),
        }
    }

    fn take(&mut self, event: &StreamEvent) {
        let (sequence, first) = (event.sequence, self.ready.len());
        match &event.response {
            StreamResponse::Task(task) => self.take_snapshot(sequence, task),
            StreamResponse::StatusUpdate(update) => self.take_status(sequence, update.clone()),
            StreamResponse::ArtifactUpdate(update) => self.take_artifact(sequence, update.clone()),
            StreamResponse::Message(message) => {
                let artifact = Artifact::new(ArtifactId::default(), message.parts.clone());
                self.take_artifact(sequence, complete_artifact(artifact, true));
                self.take_status(sequence, of_status(answered(message)));
            }
        }
        self.is_first = false;
        // One event can become several. Only the last of these has the sequence number, because only then has the
        // client received the whole event.
        let last = self.ready.len() - usize::from(self.question.is_none());
        for event in self.ready.range_mut(first..last.max(first)) {
            if let Some(event) = Arc::get_mut(event) {
                event.sequence = None;
            }
        }
    }

    /// A snapshot becomes a status event and artifact events. A status that ends the stream comes last.
    fn take_snapshot(&mut self, sequence: Option<u64>, task: &Task) {
        let (status, state) = (task.status.clone(), task.state());
        // The task was interrupted until the message arrived, and the turn of the message has not begun yet.
        let is_before_its_turn = self.is_sent && self.is_first && state.is_interrupted();
        if is_before_its_turn {
            self.status = status.clone();
        } else if !is_stop(state) {
            self.take_status(sequence, of_status(status.clone()));
        }
        for artifact in &task.artifacts {
            self.take_artifact(sequence, complete_artifact(artifact.clone(), state.is_terminal()));
        }
        if is_stop(state) && !is_before_its_turn {
            self.take_status(sequence, of_status(status));
        }
    }

    fn take_status(&mut self, sequence: Option<u64>, update: TaskStatusUpdateEvent) {
        self.status = update.status.clone();
        match update.status.state {
            TaskState::InputRequired if self.is_sent => self.question = Some((sequence, update)),
            state => {
                self.pass_on(sequence, StreamResponse::StatusUpdate(update));
                if is_stop(state) {
                    self.events = None;
                }
            }
        }
    }

    fn take_artifact(&mut self, sequence: Option<u64>, mut update: TaskArtifactUpdateEvent) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(update.artifact.artifact_id).or_insert(next);
        update.artifact.artifact_id = numbered(number);
        self.pass_on(sequence, StreamResponse::ArtifactUpdate(update));
    }

    /// The stream continues after the question, so the question did not belong to the turn of the message.
    fn pass_question(&mut self) {
        if let Some((sequence, mut update)) = self.question.take() {
            finality::set_last(&mut update, false);
            self.pass_on(sequence, StreamResponse::StatusUpdate(update));
        }
    }

    /// The stream has ended, so the last status becomes the final event.
    fn finish(&mut self) {
        self.events = None;
        let (sequence, mut update) = self.question.take().unwrap_or_else(|| (None, of_status(self.status.clone())));
        finality::set_last(&mut update, true);
        self.pass_on(sequence, StreamResponse::StatusUpdate(update));
    }

    fn pass_on(&mut self, sequence: Option<u64>, mut response: StreamResponse) {
        match &mut response {
            StreamResponse::StatusUpdate(update) => update.task_id = self.client_id.clone(),
            StreamResponse::ArtifactUpdate(update) => update.task_id = self.client_id.clone(),
            StreamResponse::Task(_) | StreamResponse::Message(_) => {}
        }
        self.ready.push_back(Arc::new(StreamEvent::new(sequence, response)));
    }
}

impl Stream for ClientStream {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            let Some(events) = &mut this.events else { return Poll::Ready(None) };
            match events.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => {
                    this.pass_question();
                    this.take(&event);
                }
                Poll::Ready(Some(Err(error))) => {
                    this.events = None;
                    return Poll::Ready(Some(Err(show::error(error, &this.server_id, &this.client_id))));
                }
                Poll::Ready(None) => this.finish(),
                Poll::Pending if this.question.is_some() => this.pass_question(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

fn complete_artifact(artifact: Artifact, last_chunk: bool) -> TaskArtifactUpdateEvent {
    let (task_id, context_id) = (TaskId::default(), ContextId::default());
    TaskArtifactUpdateEvent { task_id, context_id, artifact, append: false, last_chunk, metadata: None }
}

fn of_status(status: TaskStatus) -> TaskStatusUpdateEvent {
    TaskStatusUpdateEvent { status, ..TaskStatusUpdateEvent::default() }
}
