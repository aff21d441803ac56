//! What is written of a task, and what came of it.

use std::sync::Arc;

use nuncio_model::{ContextId, MessageId, Scope, Task, TaskId, TaskState, Timestamp};

use super::{CommandId, PushConfig};
use crate::record::Record;

/// What a commit writes.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Whose task it is.
    pub scope: Scope,
    /// The task.
    pub id: TaskId,
    /// Its context.
    pub context: ContextId,
    /// The sequence number of the last record in the log; 0 creates the task.
    pub expected: u64,
    /// The epoch under which the task is owned; 0 where this creates it.
    pub epoch: u64,
    /// The records, numbered from `expected` + 1 without a gap.
    pub records: Vec<Record>,
    /// The state after them.
    pub state: TaskState,
    /// The time of the status after them.
    pub updated: Timestamp,
    /// Whether the writer lets go of the task: it is parked or has ended. Otherwise it is running.
    pub released: bool,
    /// The task after the records, when it is worth writing: at the first commit, when the task parks or ends, and now
    /// and then between, so that loading a task stays cheap.
    pub snapshot: Option<Arc<Task>>,
    /// Push configurations that come with the task's creation; every record is pending for them.
    pub push_configs: Vec<PushConfig>,
    /// Commands whose messages are in the records, each with the number of its record: they are taken with the commit.
    pub acks: Vec<(CommandId, u64)>,
    /// Messages in the records that are to be known again.
    pub remember: Option<Box<Remember>>,
}

impl Commit {
    /// The sequence number of the last record after it.
    pub fn sequence(&self) -> u64 {
        self.expected + self.records.len() as u64
    }
}

/// Messages that a commit remembers, for the commit's scope: with its task, and with the time of the commit by the
/// store's clock. They are forgotten with the task, and some time after a later commit says that their time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    /// Their ids, none of them twice.
    pub messages: Vec<MessageId>,
    /// A message that was remembered before this is not known any more, and is remembered anew.
    pub since: Timestamp,
}

/// What a commit did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Committed {
    /// The epoch under which the committer owns the task from now on.
    pub epoch: u64,
    /// Whether push configurations have pending records now.
    pub has_pending_push: bool,
}
