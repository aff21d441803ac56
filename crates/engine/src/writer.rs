//! Writes the log of one task: checks, numbers, commits, publishes. Only the task's runner has one.

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
    /// Messages that are staged and are to be known again.
    remember: Vec<MessageId>,
    acks: Vec<(CommandId, u64)>,
    /// The epoch under which this node owns the task; `None` until it has claimed it.
    epoch: Option<u64>,
    sequence: u64,
    snapshot_at: u64,
    state: TaskState,
    updated: Timestamp,
    /// How many bytes its records carry; where it was taken up, the task as it was then.
    size: u64,
    /// How many bytes of memory are counted for it, or need not be.
    counted: usize,
    released: bool,
    /// The task may have been created, and nobody knows.
    in_doubt: bool,
    /// Somebody else may own the task.
    fenced: bool,
}

impl LogWriter {
    /// Writes the log of a task that does not exist yet.
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

    /// Goes on with the log of a task, once it is claimed.
    pub(crate) fn resume(shared: Arc<Shared>, live: Arc<LiveTask>) -> Self {
        let writer = Self::create(shared, live, ContextId::default(), Vec::new());
        Self { epoch: None, released: false, ..writer }
    }

    /// Whether this node owns the task.
    pub(crate) fn is_owner(&self) -> bool {
        self.epoch.is_some()
    }

    /// The epoch under which this node owns the task, or will once it exists.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.filter(|_| self.is_committed()).unwrap_or_else(|| self.shared.store.first_epoch())
    }

    /// The task's context.
    pub(crate) fn context(&self) -> &ContextId {
        &self.context
    }

    /// The state after all that is staged.
    pub(crate) fn state(&self) -> TaskState {
        self.state
    }

    /// The sequence number of the last record that is staged.
    pub(crate) fn staged(&self) -> u64 {
        self.sequence + self.batch.len() as u64
    }

    /// Whether anything is in the log.
    pub(crate) fn exists(&self) -> bool {
        self.staged() > 0
    }

    /// Whether a new task may be in the store although its commit failed.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// Whether anything of it is known to be in the store.
    pub(crate) fn is_committed(&self) -> bool {
        self.sequence > 0
    }

    /// Whether the store has, or may have, a task that is at work under this writer.
    pub(crate) fn is_at_work(&self) -> bool {
        self.in_doubt || self.is_committed() && !self.released
    }

    /// Whether somebody else may own the task, so that nothing more can be written.
    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced
    }
}

/// Whether nobody need be at work on a task in this state.
fn is_at_rest(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
