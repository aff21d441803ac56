//! A reader of the log of a live task: a cursor, and a waker for the next record.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use nuncio_model::{Error, ErrorKind, StreamEvent, StreamResponse, Task};

use crate::{
    inbox::TurnProgress,
    live::{LiveState, LiveTask, set_waker},
    reader_budget::Reservation,
    record::Record,
    registry::TaskRef,
    store::Portion,
};

/// The portion that is read under one lock.
const BATCH: Portion = Portion { records: 64, bytes: 64 * 1024 };

/// Reads the log of a live task from a cursor on. Dropping the reader frees its place.
pub(crate) struct LogReader {
    task_ref: TaskRef,
    key: usize,
    cursor: u64,
}

/// The result of a poll.
pub(crate) enum Found {
    /// Records were added to the buffer.
    Records,
    /// The next record is no longer in memory: read the store.
    Gap,
    /// The agent answered directly; no task exists.
    Direct(Arc<StreamEvent>),
    /// No more records will come.
    Broken(Error),
    /// The reader is at the end of the log, and the task has ended.
    End,
}

impl LogReader {
    /// A reader that has read everything up to `cursor`.
    fn new(task_ref: TaskRef, state: &mut LiveState, cursor: u64) -> Self {
        let key = state.read_from(cursor);
        Self { task_ref, key, cursor }
    }

    /// A reader of a task that does not exist yet, from its first record on.
    pub(crate) fn from_start(task_ref: TaskRef) -> Self {
        let live = Arc::clone(task_ref.live());
        Self::new(task_ref, &mut live.lock(), 0)
    }

    /// A reader of the next records, with the current task.
    pub(crate) fn from_now(task_ref: TaskRef) -> (Self, Arc<Task>, u64) {
        let live = Arc::clone(task_ref.live());
        let mut state = live.lock();
        let (task, sequence) = (Arc::clone(&state.task), state.sequence);
        (Self::new(task_ref, &mut state, sequence), task, sequence)
    }

    pub(crate) fn live(&self) -> &Arc<LiveTask> {
        self.task_ref.live()
    }

    pub(crate) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Moves the cursor: everything up to `cursor` has been read.
    pub(crate) fn advance(&mut self, cursor: u64) {
        self.cursor = cursor;
        self.task_ref.lock().advance_reader(self.key, cursor);
    }

    /// Declares that this reader needs records only, and not the task.
    pub(crate) fn mark_feed(&self) {
        let task = self.task_ref.lock().mark_feed(self.key);
        drop(task);
    }

    /// Reads the next visible records, up to one batch.
    pub(crate) fn poll(
        &mut self,
        cx: &Context<'_>,
        buffer: &mut VecDeque<Arc<StreamEvent>>,
        reservation: &mut Reservation,
    ) -> Poll<Found> {
        let mut guard = self.task_ref.lock();
        let state = &mut *guard;
        loop {
            if self.cursor < state.sequence {
                let batch = reservation.budget().portion(BATCH);
                let Some(records) = state.records_after(self.cursor, batch) else { return Poll::Ready(Found::Gap) };
                let (before, mut size) = (self.cursor, 0);
                for (record, bytes) in records {
                    self.cursor = record.sequence();
                    size += bytes;
                    buffer.extend(record.as_update().cloned());
                }
                if self.cursor == before {
                    return Poll::Ready(Found::Gap);
                }
                state.advance_reader(self.key, self.cursor);
                if !buffer.is_empty() {
                    reservation.reserve(size);
                    return Poll::Ready(Found::Records);
                }
                continue;
            }
            if let Some(message) = state.direct.take() {
                let event = StreamEvent::new(None, StreamResponse::Message(message));
                return Poll::Ready(Found::Direct(Arc::new(event)));
            }
            if state.sequence > 0 && state.task_state().is_terminal() {
                return Poll::Ready(Found::End);
            }
            if let Some(error) = &state.broken {
                return Poll::Ready(Found::Broken(error.clone()));
            }
            set_waker(&mut state.readers[self.key].waker, cx);
            return Poll::Pending;
        }
    }

    /// Waits until the turn of a message is over: the task has ended or is interrupted.
    pub(crate) async fn settled(self, progress: TurnProgress) -> Result<Arc<Task>, Error> {
        self.until(|state| settled(state, &progress)).await
    }

    /// Waits until the task exists, or until the agent has answered directly.
    pub(crate) async fn begun(&self) -> Result<(), Error> {
        poll_fn(|cx| {
            let mut state = self.task_ref.lock();
            if state.sequence > 0 || state.direct.is_some() {
                return Poll::Ready(Ok(()));
            }
            if let Some(error) = &state.broken {
                return Poll::Ready(Err(error.clone()));
            }
            set_waker(&mut state.readers[self.key].waker, cx);
            Poll::Pending
        })
        .await
    }

    /// Waits until this record is known on this node, or until no more records come.
    pub(crate) async fn reaches(self, sequence: u64) {
        self.until(|state| (state.sequence >= sequence || state.broken.is_some()).then_some(())).await;
    }

    /// Waits until the task has ended.
    pub(crate) async fn ended(self) -> Result<Arc<Task>, Error> {
        self.until(ended).await
    }

    /// Calls `look` after each change of the task, without reading records.
    async fn until<T>(self, look: impl Fn(&LiveState) -> Option<T>) -> T {
        self.task_ref.lock().advance_reader(self.key, u64::MAX);
        poll_fn(|cx| {
            let mut state = self.task_ref.lock();
            if let Some(found) = look(&state) {
                return Poll::Ready(found);
            }
            set_waker(&mut state.readers[self.key].waker, cx);
            Poll::Pending
        })
        .await
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let mut state = self.task_ref.lock();
        state.readers.try_remove(self.key);
        state.release_backpressure();
    }
}

/// The answer of a blocking call, if the turn of its message is over.
pub(crate) fn settled(state: &LiveState, progress: &TurnProgress) -> Option<Result<Arc<Task>, Error>> {
    if let Some(task) = progress.rested() {
        return Some(Ok(Arc::clone(task)));
    }
    if state.task_state().is_interrupted() && progress.precedes(state.status_sequence) {
        return Some(Ok(Arc::clone(&state.task)));
    }
    if progress.is_forwarded() { state.broken.clone().map(Err) } else { ended(state) }
}

/// The task if it has ended; the error if no more records come.
pub(crate) fn ended(state: &LiveState) -> Option<Result<Arc<Task>, Error>> {
    let task = state.task_state().is_terminal().then(|| Ok(Arc::clone(&state.task)));
    task.or_else(|| state.broken.clone().map(Err))
}

/// The key of error metadata for a message that is in the history of its task, but has no turn.
pub(crate) const IN_HISTORY: &str = "messageInHistory";

/// The error for a message if its task ended before the turn of the message. The message is in the history.
pub(crate) fn ended_before_its_turn(task: &Task) -> Error {
    Error::new(
        ErrorKind::UnsupportedOperation,
        format!("task {} became {} before this message had its turn", task.id, task.state().short()),
    )
    .with_metadata("taskId", task.id.as_str())
    .with_metadata(IN_HISTORY, "true")
}

/// Takes the visible events of stored records. Returns the last sequence number.
pub(crate) fn visible(records: &[Record], buffer: &mut VecDeque<Arc<StreamEvent>>) -> Option<u64> {
    buffer.extend(records.iter().filter_map(Record::as_update).cloned());
    records.last().map(Record::sequence)
}
