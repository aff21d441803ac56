//! The index of turns: which messages of a task have had their turn, read from the log on a node without the runner.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use nuncio_model::{Scope, Task, TaskId};

use crate::{
    feed::FILL,
    lifecycle,
    record::Record,
    store::{Portion, StoreError, TaskStore},
};

/// The turns in a range of a log.
#[derive(Default)]
pub(crate) struct TurnIndex {
    /// The log is kept after this record.
    kept_after: u64,
    /// The sequence numbers of the messages without a turn so far, oldest first.
    waiting: VecDeque<u64>,
    /// Where the turns of the other messages began, by the sequence number of the message.
    begun: BTreeMap<u64, u64>,
}

impl TurnIndex {
    /// Reads the log of a task up to `end`, as far as the log is kept.
    pub(crate) async fn read(store: &dyn TaskStore, scope: &Scope, id: &TaskId, end: u64) -> Result<Self, StoreError> {
        let mut turns = Self::default();
        let kept_after = read_kept(store, scope, id, end, |record| turns.take(record)).await?;
        Ok(Self { kept_after, ..turns })
    }

    /// Adds the next record.
    pub(crate) fn take(&mut self, record: &Record) {
        match record {
            Record::Received(received) if received.waits => self.waiting.push_back(received.sequence),
            Record::Received(received) => drop(self.begun.insert(received.sequence, received.sequence)),
            Record::Begun(sequence) => self.begun.extend(self.waiting.pop_front().map(|message| (message, *sequence))),
            Record::Update(_) | Record::Submitted(_) => {}
        }
    }

    /// Where the turn of this message began, if it has begun. A message in a deleted part of the log had its turn, but the
    /// beginning is unknown; the sequence number of the message is returned instead.
    pub(crate) fn begun(&self, message: u64) -> Option<u64> {
        let is_kept = message > self.kept_after;
        if is_kept { self.begun.get(&message).copied() } else { Some(message) }
    }
}

/// Computes the task at record `end` from an earlier state; `None` if the records between are not kept.
pub(crate) async fn fold_to(
    store: &dyn TaskStore,
    scope: &Scope,
    id: &TaskId,
    (mut task, mut sequence): (Arc<Task>, u64),
    end: u64,
) -> Result<Option<Arc<Task>>, StoreError> {
    while sequence < end {
        let records = match store.events_after(scope, id, sequence, FILL).await {
            Err(StoreError::Compacted) => return Ok(None),
            records => records?,
        };
        for record in records.iter().take_while(|record| record.sequence() <= end) {
            lifecycle::apply(Arc::make_mut(&mut task), record).map_err(|it| StoreError::Corrupt(it.into()))?;
        }
        sequence = records.last().map_or(end, Record::sequence);
    }
    Ok(Some(task))
}

/// Reads the kept part of a log up to `end`, and returns the record after which the log is kept. A log is deleted only while
/// the task is at rest, so that no turn is cut in two.
///
/// # Errors
///
/// Errors of the store; `Compacted` if the rest of the log was deleted meanwhile.
pub(crate) async fn read_kept(
    store: &dyn TaskStore,
    scope: &Scope,
    id: &TaskId,
    end: u64,
    mut take: impl FnMut(&Record),
) -> Result<u64, StoreError> {
    let kept_after = first_kept(store, scope, id, end).await?;
    let mut after = kept_after;
    while after < end {
        let records = store.events_after(scope, id, after, FILL).await?;
        records.iter().take_while(|record| record.sequence() <= end).for_each(&mut take);
        after = records.last().map_or(end, Record::sequence);
    }
    Ok(kept_after)
}

/// The record after which a log is kept.
async fn first_kept(store: &dyn TaskStore, scope: &Scope, id: &TaskId, end: u64) -> Result<u64, StoreError> {
    let (mut first, mut last, mut middle) = (0, end, 0);
    while first < last {
        match store.events_after(scope, id, middle, Portion::records(1)).await {
            Ok(_) => last = middle,
            Err(StoreError::Compacted) => first = middle + 1,
            Err(error) => return Err(error),
        }
        middle = first.midpoint(last);
    }
    Ok(last)
}
