//! The turn of a duplicate message that waits, if this node does not run the task or has taken the task over. The log tells
//! where the turn begins, and thus at which state the turn stops.

use std::sync::Arc;

use futures_core::Stream;
use futures_util::{StreamExt as _, stream::unfold};
use nuncio_model::{Error, MessageId, StreamEvent, StreamResponse, Task, TaskState};

use crate::{
    feed::{Feed, Until},
    live::LiveTask,
    reader::{LogReader, ended_before_its_turn},
    record::Record,
    registry::TaskRef,
    shared::Shared,
    store::{StoreError, TaskStore},
    turn_index::{TurnIndex, fold_to, read_kept},
    turns::stopping_at,
};

/// The turn of a message that is in the log.
pub(super) struct TurnInLog {
    store: Arc<dyn TaskStore>,
    live: Arc<LiveTask>,
    /// The sequence number of the message.
    message: u64,
}

impl TurnInLog {
    /// Finds the turn of a message of a task; `None` if the turn has begun.
    pub(super) async fn find(shared: &Shared, task_ref: &TaskRef, message: &MessageId) -> Result<Option<Self>, Error> {
        let (store, live) = (Arc::clone(&shared.store), Arc::clone(task_ref.live()));
        let end = live.lock().sequence;
        let (mut turns, mut place) = (TurnIndex::default(), None);
        let read = read_kept(&*store, &live.scope, &live.id, end, |record| {
            turns.take(record);
            if let Record::Received(received) = record
                && received.message.message_id == *message
            {
                place = Some(received.sequence);
            }
        });
        match read.await {
            Err(StoreError::Compacted) => return Ok(None),
            read => read?,
        };
        let waiting = place.filter(|place| turns.begun(*place).is_none());
        Ok(waiting.map(|message| Self { store, live, message }))
    }

    /// Waits until the turn has stopped, and returns the task at that record.
    pub(super) async fn rested(self, shared: &Shared, task_ref: TaskRef) -> Result<Arc<Task>, Error> {
        // A reader of records does not keep an ended task in memory, but the task is needed here.
        let _kept = task_ref.clone();
        let (reader, task, sequence) = LogReader::from_now(task_ref);
        if shared.turns.are_draining() && !task.state().is_terminal() {
            return Err(stopping_at(&task.id));
        }
        // The turn may have stopped already.
        let first = Arc::new(StreamEvent::new(Some(sequence), StreamResponse::Task((*task).clone())));
        let mut feed = Feed::new(reader, shared, Until::Ended, [first]);
        while let Some(event) = feed.next().await {
            let event = event?;
            let (state, at) = (state_of(&event), event.sequence.unwrap_or_default());
            if state.is_some_and(|state| state.is_terminal() || state.is_interrupted()) {
                let is_over = self.begins_before(at).await?;
                if is_over || state.is_some_and(TaskState::is_terminal) {
                    let task = self.task_at(at, task, sequence).await?;
                    return if is_over { Ok(task) } else { Err(ended_before_its_turn(&task)) };
                }
            }
        }
        Err(stopping_at(&self.live.id))
    }

    /// The events up to the event with which the turn asks its client.
    pub(super) fn until_it_rests(self, feed: Feed) -> impl Stream<Item = Result<Arc<StreamEvent>, Error>> + Send {
        let events = unfold(Some((feed, self)), async |state| {
            let (mut feed, turn) = state?;
            let mut event = feed.next().await?;
            let asks = event.as_ref().is_ok_and(|event| state_of(event) == Some(TaskState::InputRequired));
            if asks {
                let at = event.as_ref().ok().and_then(|event| event.sequence).unwrap_or_default();
                match turn.begins_before(at).await {
                    Ok(true) => return Some((event, None)),
                    Ok(false) => {}
                    Err(error) => event = Err(error.into()),
                }
            }
            let goes_on = event.is_ok();
            Some((event, goes_on.then_some((feed, turn))))
        });
        events.fuse()
    }

    /// Whether the turn begins before this record.
    async fn begins_before(&self, sequence: u64) -> Result<bool, StoreError> {
        let LiveTask { scope, id, .. } = &*self.live;
        match TurnIndex::read(&*self.store, scope, id, sequence).await {
            Ok(turns) => Ok(turns.begun(self.message).is_some_and(|begun| begun < sequence)),
            // The log is gone, so the turn cannot be found any more.
            Err(StoreError::Compacted) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The task at this record, computed from an earlier state if later records exist.
    async fn task_at(&self, at: u64, task: Arc<Task>, sequence: u64) -> Result<Arc<Task>, StoreError> {
        let LiveTask { scope, id, .. } = &*self.live;
        let now = {
            let state = self.live.lock();
            (state.sequence, Arc::clone(&state.task))
        };
        if now.0 == at {
            return Ok(now.1);
        }
        Ok(fold_to(&*self.store, scope, id, (task, sequence), at).await?.unwrap_or(now.1))
    }
}

/// The task state in an event.
fn state_of(event: &StreamEvent) -> Option<TaskState> {
    match &event.response {
        StreamResponse::Task(task) => Some(task.state()),
        StreamResponse::StatusUpdate(update) => Some(update.status.state),
        StreamResponse::Message(_) | StreamResponse::ArtifactUpdate(_) => None,
    }
}
