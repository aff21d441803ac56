//! Writes the log of one task: checks, numbers, commits and publishes records. Only the runner of the task has a
//! writer.

mod backpressure;
mod claim;
mod commit;
mod memory;
mod stage;
mod write;

use std::sync::Arc;

pub(crate) use claim::Claimed;
use nuncio_model::{ContextId, MessageId, TaskState, Timestamp};

use crate::{
    live::LiveTask,
    record::Record,
    shared::Shared,
    store::{CommandId, PushConfig},
};

pub(crate) struct LogWriter {
    shared: Arc<Shared>,
    live: Arc<LiveTask>,
    context: ContextId,
    batch: Vec<Record>,
    push_configs: Vec<PushConfig>,
    /// The ids of staged messages that the store must remember.
    remember: Vec<MessageId>,
    acks: Vec<(CommandId, u64)>,
    /// The epoch under which this node owns the task; `None` before the claim.
    epoch: Option<u64>,
    sequence: u64,
    snapshot_at: u64,
    state: TaskState,
    updated: Timestamp,
    /// The content of the records in bytes. After a claim, this starts with the size of the task.
    size: u64,
    /// The counted memory of the task in bytes. Memory below the free size is not counted.
    counted: usize,
    released: bool,
    /// The commit that creates the task failed, and the store may have the task.
    in_doubt: bool,
    /// Another node may own the task.
    fenced: bool,
}

impl LogWriter {
    /// A writer for a task that does not exist yet.
    pub(crate) fn create(
        shared: Arc<Shared>,
        live: Arc<LiveTask>,
        context: ContextId,
        push_configs: Vec<PushConfig>,
    ) -> Self {
        Self {
            shared,
            live,
            context,
            batch: Vec::new(),
            push_configs,
            remember: Vec::new(),
            acks: Vec::new(),
            epoch: Some(0),
            sequence: 0,
            snapshot_at: 0,
            state: TaskState::Submitted,
            updated: Timestamp::default(),
            size: 0,
            counted: memory::FREE,
            released: true,
            in_doubt: false,
            fenced: false,
        }
    }

    /// A writer for an existing task, before its claim.
    pub(crate) fn resume(shared: Arc<Shared>, live: Arc<LiveTask>) -> Self {
        let writer = Self::create(shared, live, ContextId::default(), Vec::new());
        Self { epoch: None, released: false, ..writer }
    }

    /// Whether this node owns the task.
    pub(crate) fn is_owner(&self) -> bool {
        self.epoch.is_some()
    }

    /// The epoch under which this node owns the task, or will own the task after its creation.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.filter(|_| self.is_committed()).unwrap_or_else(|| self.shared.store.first_epoch())
    }

    /// The context of the task.
    pub(crate) fn context(&self) -> &ContextId {
        &self.context
    }

    /// The state after all staged records.
    pub(crate) fn state(&self) -> TaskState {
        self.state
    }

    /// The sequence number of the last staged record.
    pub(crate) fn staged(&self) -> u64 {
        self.sequence + self.batch.len() as u64
    }

    /// Whether the log has records, including staged ones.
    pub(crate) fn exists(&self) -> bool {
        self.staged() > 0
    }

    /// Whether the store may have a new task although its commit failed.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// Whether the store has records of the task.
    pub(crate) fn is_committed(&self) -> bool {
        self.sequence > 0
    }

    /// Whether the store has, or may have, the task at work under this writer.
    pub(crate) fn is_at_work(&self) -> bool {
        self.in_doubt || self.is_committed() && !self.released
    }

    /// Whether another node may own the task. Nothing more can be written then.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced
    }
}

/// Whether a task in this state needs no runner.
fn is_at_rest(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
