//! The content and the result of a commit.

use std::sync::Arc;

use nuncio_model::{ContextId, MessageId, Scope, Task, TaskId, TaskState, Timestamp};

use super::{CommandId, PushConfig};
use crate::record::Record;

/// The content of a commit.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The scope of the task.
    pub scope: Scope,
    /// The id of the task.
    pub id: TaskId,
    /// The context of the task.
    pub context: ContextId,
    /// The sequence number of the last record in the log; 0 creates the task.
    pub expected: u64,
    /// The epoch under which the task is owned; 0 for a new task.
    pub epoch: u64,
    /// The records, numbered from `expected` + 1 without a gap.
    pub records: Vec<Record>,
    /// The state after the records.
    pub state: TaskState,
    /// The timestamp of the status after the records.
    pub updated: Timestamp,
    /// Whether the writer releases the task: it is interrupted or has ended. Otherwise the task is running.
    pub released: bool,
    /// The task after the records, if a snapshot is due: at the first commit, when the task is interrupted or ends, and
    /// sometimes between, so that loading a task stays cheap.
    pub snapshot: Option<Arc<Task>>,
    /// The push configurations of a new task. All records are pending for them.
    pub push_configs: Vec<PushConfig>,
    /// Commands with a message in the records, each with the sequence number of its record. The commit acknowledges
    /// the commands.
    pub acks: Vec<(CommandId, u64)>,
    /// The ids of messages in the records that the store must remember.
    pub remember: Option<Box<Remember>>,
}

impl Commit {
    /// The sequence number of the last record after the commit.
    pub fn sequence(&self) -> u64 {
        self.expected + self.records.len() as u64
    }
}

/// The message ids that a commit remembers for its scope, with the task and the time of the commit by the clock of the
/// store. The store forgets them with the task, and some time after a later commit moves `since` beyond them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    /// The ids, without duplicates.
    pub messages: Vec<MessageId>,
    /// The start of the window. A message id that was remembered earlier is forgotten.
    pub since: Timestamp,
}

/// The result of a commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Committed {
    /// The epoch under which the writer owns the task after the commit.
    pub epoch: u64,
    /// Whether push configurations have pending records now.
    pub has_pending_push: bool,
}
