//! Client: joins a running task if the peer's stream does not begin with the task.
//!
//! The client subscribes first and reads the task afterwards, so that no event is lost. Therefore the task can already
//! contain events that the stream delivered before the read ended. Events before 1.0 have no numbers, so their content
//! must tell: chunks of an artifact are skipped if the artifact of the task ends with them.

mod overlap;

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use nuncio_model::{ArtifactId, Error, EventStream, Reply, StreamEvent, StreamResponse, Task, TaskStatus};

use overlap::Overlap;

/// The maximum number of buffered events while the task is read. When the buffer is full, the stream is not polled.
const MAX_BUFFERED: usize = 1024;

/// The beginning of a subscription.
pub(crate) enum Joined {
    /// The stream of the peer, which begins with its task or message, or ends at once.
    Begun(EventStream),
    /// The task that was read, and the events after it.
    Read(Box<Task>, EventStream),
}

/// Joins an opened stream. `reading` reads the task and is polled only if the stream does not begin with a task.
pub(crate) async fn join(
    mut events: EventStream,
    reading: impl Future<Output = Result<Reply, Error>> + Send,
) -> Result<Joined, Error> {
    let mut reading = pin!(reading);
    let mut buffered: VecDeque<Result<Arc<StreamEvent>, Error>> = VecDeque::new();
    let mut is_open = true;
    let read = poll_fn(|cx| {
        while is_open && buffered.len() < MAX_BUFFERED {
            match events.as_mut().poll_next(cx) {
                Poll::Ready(Some(item)) => {
                    let is_begun = buffered.is_empty() && item.as_ref().is_ok_and(|event| may_be_first(event));
                    buffered.push_back(item);
                    if is_begun {
                        return Poll::Ready(None);
                    }
                }
                Poll::Ready(None) => is_open = false,
                Poll::Pending => break,
            }
        }
        // If the stream is empty or begins with an error, the task is not needed.
        if (!is_open && buffered.is_empty()) || buffered.front().is_some_and(Result::is_err) {
            return Poll::Ready(None);
        }
        reading.as_mut().poll(cx).map(Some)
    });
    match read.await {
        None => Ok(Joined::Begun(Box::pin(BufferedStream { buffered, rest: Some(events) }))),
        Some(reply) => {
            let task = Task::try_from(reply?)?;
            if task.state().is_terminal() {
                return Ok(Joined::Read(Box::new(task), Box::pin(BufferedStream::default())));
            }
            let new_events = NewEvents::new(&task, buffered, events);
            Ok(Joined::Read(Box::new(task), Box::pin(new_events)))
        }
    }
}

/// Whether a stream of the model can begin with this event.
pub(crate) fn may_be_first(event: &StreamEvent) -> bool {
    matches!(&event.response, StreamResponse::Task(_) | StreamResponse::Message(_))
}

/// Buffered events, followed by the rest of the stream.
#[derive(Default)]
struct BufferedStream {
    buffered: VecDeque<Result<Arc<StreamEvent>, Error>>,
    rest: Option<EventStream>,
}

impl Stream for BufferedStream {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Arc<StreamEvent>, Error>>> {
        if let Some(item) = self.buffered.pop_front() {
            return Poll::Ready(Some(item));
        }
        match &mut self.rest {
            Some(rest) => rest.as_mut().poll_next(cx),
            None => Poll::Ready(None),
        }
    }
}

/// The events of a stream that a task does not contain yet.
struct NewEvents {
    /// Events that will be delivered.
    ready: VecDeque<Result<Arc<StreamEvent>, Error>>,
    /// The artifacts whose chunks can still be part of the task.
    overlaps: HashMap<ArtifactId, Overlap>,
    rest: Option<EventStream>,
}

impl NewEvents {
    fn new(task: &Task, buffered: VecDeque<Result<Arc<StreamEvent>, Error>>, rest: EventStream) -> Self {
        let known = |id: &ArtifactId| task.artifacts.iter().find(|artifact| artifact.artifact_id == *id);
        let mut overlaps = HashMap::new();
        // The task contains all statuses up to its own status.
        let old = buffered.iter().rposition(|item| status(item).is_some_and(|it| is_same(it, &task.status)));
        let mut new_events = Self { ready: VecDeque::new(), overlaps: HashMap::new(), rest: Some(rest) };
        for item in buffered.iter().filter_map(|item| item.as_ref().ok()) {
            if let StreamResponse::ArtifactUpdate(update) = &item.response
                && let Some(artifact) = known(&update.artifact.artifact_id)
            {
                let id = artifact.artifact_id.clone();
                overlaps.entry(id).or_insert_with(|| Overlap::new(artifact.parts.clone().into_vec()));
            }
        }
        new_events.overlaps = overlaps;
        for (place, item) in buffered.into_iter().enumerate() {
            let is_old = |it: &TaskStatus| old.is_some_and(|old| place <= old) || is_before(it, &task.status);
            if !status(&item).is_some_and(is_old) {
                new_events.take(item);
            }
        }
        new_events
    }

    fn take(&mut self, item: Result<Arc<StreamEvent>, Error>) {
        let Ok(event) = &item else {
            self.settle();
            return self.ready.push_back(item);
        };
        match &event.response {
            StreamResponse::ArtifactUpdate(update) => {
                let id = &update.artifact.artifact_id;
                let Some(overlap) = self.overlaps.get_mut(id) else { return self.ready.push_back(item) };
                if let Some(news) = overlap.take(event, update) {
                    self.overlaps.remove(id);
                    self.ready.extend(news.into_iter().map(Ok));
                }
            }
            // When the task ends, the undecided chunks are not part of the task that was read.
            StreamResponse::StatusUpdate(update)
                if update.status.state.is_terminal() || update.status.state.is_interrupted() =>
            {
                self.settle();
                self.ready.push_back(item);
            }
            StreamResponse::StatusUpdate(_) => self.ready.push_back(item),
            StreamResponse::Task(_) | StreamResponse::Message(_) => {
                self.overlaps.clear();
                self.ready.push_back(item);
            }
        }
    }

    fn settle(&mut self) {
        let open = self.overlaps.drain().flat_map(|(_, overlap)| overlap.settle());
        self.ready.extend(open.map(Ok));
    }
}

impl Stream for NewEvents {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Arc<StreamEvent>, Error>>> {
        let this = &mut *self;
        loop {
            if let Some(item) = this.ready.pop_front() {
                return Poll::Ready(Some(item));
            }
            let Some(rest) = &mut this.rest else { return Poll::Ready(None) };
            match rest.as_mut().poll_next(cx) {
                Poll::Ready(Some(item)) => this.take(item),
                Poll::Ready(None) => {
                    this.rest = None;
                    this.settle();
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

fn status(item: &Result<Arc<StreamEvent>, Error>) -> Option<&TaskStatus> {
    match &item.as_ref().ok()?.response {
        StreamResponse::StatusUpdate(update) => Some(&update.status),
        _ => None,
    }
}

/// Whether two statuses are the same. The ids of their messages can differ: 0.1 has no ids, so each read makes new ids.
fn is_same(one: &TaskStatus, other: &TaskStatus) -> bool {
    let parts = |status: &TaskStatus| status.message.as_ref().map(|message| message.parts.clone());
    one.state == other.state && one.timestamp == other.timestamp && parts(one) == parts(other)
}

fn is_before(one: &TaskStatus, other: &TaskStatus) -> bool {
    one.timestamp.zip(other.timestamp).is_some_and(|(one, other)| one < other)
}
