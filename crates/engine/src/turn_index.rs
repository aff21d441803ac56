//! Which messages of a task have had their turn, by its log: for whoever does not run it.

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

/// The turns in a stretch of a log.
#[derive(Default)]
pub(crate) struct TurnIndex {
    /// The place behind which the log is kept.
    kept_after: u64,
    /// The places of the messages whose turns have yet to begin, first come first.
    waiting: VecDeque<u64>,
    /// Where the turn of each other message began, by the place of the message.
    begun: BTreeMap<u64, u64>,
}

impl TurnIndex {
    /// Those of this task, as far as its log is kept and up to a place.
    pub(crate) async fn read(store: &dyn TaskStore, scope: &Scope, id: &TaskId, end: u64) -> Result<Self, StoreError> {
        let mut turns = Self::default();
        let kept_after = read_kept(store, scope, id, end, |record| turns.take(record)).await?;
        Ok(Self { kept_after, ..turns })
    }

    /// Takes in the next record.
    pub(crate) fn take(&mut self, record: &Record) {
        match record {
            Record::Received(received) if received.waits => self.waiting.push_back(received.sequence),
            Record::Received(received) => drop(self.begun.insert(received.sequence, received.sequence)),
            Record::Begun(sequence) => self.begun.extend(self.waiting.pop_front().map(|message| (message, *sequence))),
            Record::Update(_) | Record::Submitted(_) => {}
        }
    }

    /// Where the turn of the message at this place began, if it did. Of a message in what is not kept any more that is
    /// not known, and it had its turn: the place of the message does as well.
    pub(crate) fn begun(&self, message: u64) -> Option<u64> {
        let is_kept = message > self.kept_after;
        if is_kept { self.begun.get(&message).copied() } else { Some(message) }
    }
}

/// A task as of a record, from what it was as of an earlier one; `None` where the records between are not kept.
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

/// Reads what is kept of a log up to a place; gives the place behind which it is kept. A task that rested may have lost
/// what was before that, and no turn with it.
///
/// # Errors
///
/// Those of the store; `Compacted` where the rest of it went meanwhile.
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

/// The place behind which a log is kept.
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
