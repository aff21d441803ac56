//! A feed: the events of one task for one client. Recent events come from memory, older events from the store.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{Error, ErrorKind, StreamEvent, StreamResponse, TaskState, weight};

use crate::{
    inbox::TurnProgress,
    reader::{Found, LogReader, visible},
    reader_budget::Reservation,
    record::Record,
    shared::Shared,
    store::{Portion, StoreError, TaskStore},
};

/// The number of records that are read from the store at a time.
const RECORDS: usize = 256;

/// The size of the records that are read from the store at a time, in bytes.
const BYTES: usize = 256 * 1024;

/// The portion that is read from the store at a time.
pub(crate) const FILL: Portion = Portion { records: RECORDS, bytes: BYTES };

type Fill = Pin<Box<dyn Future<Output = Result<Vec<Record>, StoreError>> + Send>>;

/// The condition under which a feed ends before its task ends.
pub(crate) enum Until {
    /// Never: the feed ends with the task (section 3.1.6 "Subscribe to Task").
    Ended,
    /// The turn of a message asks for input (section 3.1.2 "Send Streaming Message").
    InputRequired(TurnProgress),
}

pub(crate) struct Feed {
    reader: Option<LogReader>,
    store: Arc<dyn TaskStore>,
    /// Events that were read and not passed on.
    buffer: VecDeque<Arc<StreamEvent>>,
    reservation: Reservation,
    fill: Option<Fill>,
    until: Until,
    history: Option<usize>,
}

impl Feed {
    /// A feed of the events of this reader, with `first` before them.
    pub(crate) fn new(
        reader: LogReader,
        shared: &Shared,
        until: Until,
        first: impl IntoIterator<Item = Arc<StreamEvent>>,
    ) -> Self {
        reader.mark_feed();
        let buffer: VecDeque<_> = first.into_iter().collect();
        let mut reservation = Reservation::new(&shared.reader_budget);
        reservation.reserve(buffer.iter().map(|event| weight::of_event(&event.response)).sum());
        Self {
            reader: Some(reader),
            store: Arc::clone(&shared.store),
            buffer,
            reservation,
            fill: None,
            until,
            history: None,
        }
    }

    /// Limits the history of tasks in the feed (section 3.2.4 "History Length Semantics").
    pub(crate) fn with_history(mut self, length: Option<i32>) -> Self {
        self.history = length.and_then(|length| usize::try_from(length).ok());
        self
    }

    /// The event with a limited history.
    fn shown(&self, event: Arc<StreamEvent>) -> Arc<StreamEvent> {
        match (&event.response, self.history) {
            (StreamResponse::Task(task), Some(limit)) if task.history.len() > limit => {
                let mut task = task.clone();
                task.limit_history(Some(limit));
                Arc::new(StreamEvent::new(event.sequence, StreamResponse::Task(task)))
            }
            _ => event,
        }
    }

    fn is_last(&self, event: &StreamEvent) -> bool {
        let state = match &event.response {
            StreamResponse::Task(task) => task.state(),
            StreamResponse::StatusUpdate(update) => update.status.state,
            StreamResponse::Message(_) => return true,
            StreamResponse::ArtifactUpdate(_) => return false,
        };
        state.is_terminal()
            || state == TaskState::InputRequired
                && matches!(&self.until, Until::InputRequired(progress) if progress.precedes(event.sequence.unwrap_or(0)))
    }
}

impl Stream for Feed {
    type Item = Result<Arc<StreamEvent>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.buffer.pop_front() {
                if this.buffer.is_empty() {
                    this.reservation.release();
                }
                if this.is_last(&event) {
                    this.buffer.clear();
                    this.reader = None;
                }
                return Poll::Ready(Some(Ok(this.shown(event))));
            }
            this.reservation.release();
            let Some(reader) = &mut this.reader else { return Poll::Ready(None) };
            if let Some(fill) = &mut this.fill {
                let filled = ready!(fill.as_mut().poll(cx));
                this.fill = None;
                if let Ok(records) = &filled {
                    this.reservation.reserve(records.iter().map(Record::size).sum());
                }
                match filled.map(|records| visible(&records, &mut this.buffer)) {
                    Ok(Some(last)) => reader.advance(last),
                    Ok(None) | Err(StoreError::Compacted) => {
                        let broken = reader.live().lock().broken.clone();
                        this.reader = None;
                        return Poll::Ready(Some(Err(broken.unwrap_or_else(evicted))));
                    }
                    Err(error) => {
                        this.reader = None;
                        return Poll::Ready(Some(Err(error.into())));
                    }
                }
                continue;
            }
            match ready!(reader.poll(cx, &mut this.buffer, &mut this.reservation)) {
                Found::Records => {}
                Found::Gap => {
                    let (store, live, after) = (Arc::clone(&this.store), Arc::clone(reader.live()), reader.cursor());
                    let portion = this.reservation.budget().portion(FILL);
                    this.fill =
                        Some(Box::pin(async move { store.events_after(&live.scope, &live.id, after, portion).await }));
                }
                Found::Direct(event) => {
                    this.reader = None;
                    return Poll::Ready(Some(Ok(event)));
                }
                Found::Broken(error) => {
                    this.reader = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Found::End => {
                    this.reader = None;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

/// The reader was evicted, and the store no longer has its events. The client can subscribe again and start with a
/// snapshot.
fn evicted() -> Error {
    Error::new(ErrorKind::ResourceExhausted, "this reader is too far behind its task; subscribe again")
        .with_retry_after(RETRY_AFTER)
        .with_metadata("limit", "window")
}
