//! One task: its state, its log while the log is needed, and its push configurations.

use std::{collections::VecDeque, sync::Arc};

use nuncio_model::{ContextId, Task, TaskId, TaskState};
use parking_lot::Mutex;

use super::{
    EPOCH,
    hooks::Hook,
    order::{Entry, Moment, Place},
    tables::ScopeLists,
};
use crate::{
    lifecycle::Fold,
    record::Record,
    store::{Commit, Portion, StoreError, Stored},
};

/// A task. Commits and reads of this task lock the mutex.
pub(super) struct MemoryNode {
    pub(super) id: TaskId,
    pub(super) context: ContextId,
    pub(super) scope: Arc<ScopeLists>,
    pub(super) head: Mutex<Head>,
}

impl MemoryNode {
    /// The list entry of a head of this node.
    pub(super) fn entry(self: &Arc<Self>, head: &Head) -> Entry {
        Entry { at: head.at, state: head.state, node: Arc::clone(self) }
    }

    pub(super) fn place<'a>(&'a self, head: &Head) -> Place<'a> {
        Place { at: head.at, id: self.id.as_str() }
    }
}

pub(super) struct Head {
    /// The task at the record `folded`.
    task: Arc<Task>,
    folded: u64,
    /// The last record.
    pub(super) sequence: u64,
    pub(super) at: Moment,
    pub(super) state: TaskState,
    pub(super) released: bool,
    /// The task was evicted. Remaining references to the node find no task.
    pub(super) deleted: bool,
    /// The queues of the retention that contain the task.
    pub(super) queued: u8,
    rest: Option<Box<Rest>>,
}

/// The data that an ended task without pushes does not have.
#[derive(Default)]
struct Rest {
    /// The newest records, up to the last one.
    log: VecDeque<Record>,
    hooks: Vec<Hook>,
}

/// The retention of logs.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogPolicy {
    /// Whether logs of ended tasks are kept.
    pub(super) keep: bool,
    /// The number of records of a task that are kept.
    pub(super) limit: usize,
}

impl Head {
    /// A task without records yet.
    pub(super) fn new() -> Self {
        Self {
            task: Arc::default(),
            folded: 0,
            sequence: 0,
            at: Moment::from(nuncio_model::Timestamp::default()),
            state: TaskState::Unspecified,
            released: false,
            deleted: false,
            queued: 0,
            rest: None,
        }
    }

    /// Writes a checked commit.
    pub(super) fn append(&mut self, commit: Commit, policy: LogPolicy) -> Result<(), StoreError> {
        self.sequence = commit.sequence();
        self.at = commit.updated.into();
        self.state = commit.state;
        self.released = commit.released;
        let is_kept = !self.is_over() || policy.keep || commit.snapshot.is_none() || self.rest.is_some();
        if is_kept {
            self.rest.get_or_insert_default().log.extend(commit.records);
        }
        if let Some(task) = commit.snapshot {
            (self.task, self.folded) = (task, self.sequence);
        }
        self.trim(policy)
    }

    /// Drops records that are no longer needed.
    pub(super) fn trim(&mut self, policy: LogPolicy) -> Result<(), StoreError> {
        let Some(rest) = &self.rest else { return Ok(()) };
        let is_wanted = !self.is_over() || policy.keep || self.has_pending();
        let excess = if is_wanted { rest.log.len().saturating_sub(policy.limit) } else { rest.log.len() };
        self.drop_oldest(excess)
    }

    /// Drops this number of records, after they are folded into the task.
    fn drop_oldest(&mut self, excess: usize) -> Result<(), StoreError> {
        let Some(rest) = self.rest.as_ref().filter(|_| excess > 0) else { return Ok(()) };
        if self.folded < self.sequence - (rest.log.len() - excess) as u64 {
            self.fold()?;
        }
        let Some(rest) = &mut self.rest else { return Ok(()) };
        rest.log.drain(..excess);
        if rest.log.is_empty() {
            rest.log = VecDeque::new();
            if rest.hooks.is_empty() {
                self.rest = None;
            }
        }
        Ok(())
    }

    /// The task at the last record.
    pub(super) fn task(&mut self) -> Result<Arc<Task>, StoreError> {
        if self.folded < self.sequence {
            self.fold()?;
        }
        Ok(Arc::clone(&self.task))
    }

    /// The task with the data for its writer.
    pub(super) fn stored(&mut self) -> Result<Stored, StoreError> {
        Ok(Stored { task: self.task()?, sequence: self.sequence, epoch: EPOCH })
    }

    fn fold(&mut self) -> Result<(), StoreError> {
        let Some(rest) = &self.rest else { return Ok(()) };
        let task = Arc::make_mut(&mut self.task);
        let mut fold = Fold::default();
        for record in rest.log.iter().filter(|record| record.sequence() > self.folded) {
            fold.apply(task, record).map_err(|error| StoreError::Corrupt(error.into()))?;
        }
        self.folded = self.sequence;
        Ok(())
    }

    /// A portion of the records after `after`.
    pub(super) fn events_after(&self, after: u64, mut portion: Portion) -> Result<Vec<Record>, StoreError> {
        let Some(missing) = self.sequence.checked_sub(after).filter(|missing| *missing > 0) else {
            return Ok(Vec::new());
        };
        let log = self.rest.as_ref().map(|rest| &rest.log);
        let behind = usize::try_from(missing).unwrap_or(usize::MAX);
        let first = log.and_then(|log| log.len().checked_sub(behind)).ok_or(StoreError::Compacted)?;
        let taken = log.into_iter().flatten().skip(first).take_while(|record| portion.takes(record));
        Ok(taken.cloned().collect())
    }

    /// Drops the log of a task at rest without pending pushes. Returns whether there was a log.
    pub(super) fn drop_log(&mut self) -> Result<bool, StoreError> {
        let records = self.rest.as_ref().map_or(0, |rest| rest.log.len());
        self.drop_oldest(records).map(|()| records > 0)
    }

    /// Whether an interrupted task has records that can be dropped before the task ends.
    pub(super) fn has_log(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| !rest.log.is_empty())
    }

    /// Whether the task has ended and was released.
    fn is_over(&self) -> bool {
        self.released && self.state.is_terminal()
    }

    /// Drops the content of a deleted task.
    pub(super) fn clear(&mut self) {
        self.task = Arc::default();
        self.rest = None;
    }

    /// Whether a push configuration has pending records.
    pub(super) fn has_pending(&self) -> bool {
        self.hooks().iter().any(Hook::has_pending)
    }

    pub(super) fn hooks(&self) -> &[Hook] {
        self.rest.as_ref().map_or(&[], |rest| &rest.hooks)
    }

    pub(super) fn hooks_mut(&mut self) -> Option<&mut Vec<Hook>> {
        self.rest.as_mut().map(|rest| &mut rest.hooks)
    }

    pub(super) fn hooks_or_new(&mut self) -> &mut Vec<Hook> {
        &mut self.rest.get_or_insert_default().hooks
    }
}
