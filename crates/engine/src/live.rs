//! A live task on this node: its state, the tail of its log, its readers, and the inbox of its runner.
//!
//! One mutex guards everything, so a reader that finds no record and stores its waker cannot miss the next record. The
//! lock is held for copies of reference counts and for folding a batch, and never across an await.

mod mailbox;
mod memory;
mod readers;
mod snapshot;
mod tail;

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Waker},
};

use nuncio_limit::Permit;
use nuncio_model::{Error, Message, MessageId, Scope, Task, TaskId, TaskState};
use parking_lot::{Mutex, MutexGuard};
use slab::Slab;
pub(crate) use tail::Backlog;
use tokio::sync::OnceCell;

use self::{readers::Reader, snapshot::Snapshot, tail::Tail};
use crate::{
    cluster::RemoteCall,
    inbox::{Control, TurnProgress},
    lifecycle::Fold,
    reader_budget::ReaderBudget,
    record::Record,
    store::{Erase, Stored},
    turns::{stopping, stopping_at},
};

pub(crate) struct LiveTask {
    pub(crate) id: TaskId,
    pub(crate) scope: Scope,
    /// Set when the task was read from the store, or was created on this node.
    pub(crate) loaded: OnceCell<()>,
    /// Locked while the records of other nodes are read.
    pub(crate) catching_up: tokio::sync::Mutex<()>,
    /// The task as the first event of streams, while readers use the event.
    pub(crate) snapshot: Snapshot,
    state: Mutex<LiveState>,
}

pub(crate) struct LiveState {
    /// The task at `sequence`.
    pub(crate) task: Arc<Task>,
    fold: Fold,
    /// The last committed record; 0 while the task does not exist.
    pub(crate) sequence: u64,
    /// The record that set the current status.
    pub(crate) status_sequence: u64,
    /// Whether the store may have a later record, which this node is writing.
    pub(crate) is_committing: bool,
    /// The epoch under which this node owns the task. `None` before the claim, and after the release if several nodes
    /// share the store.
    pub(crate) epoch: Option<u64>,
    /// Commands from this node to the node that runs the task.
    pub(crate) remote_calls: Vec<Arc<RemoteCall>>,
    /// Whether the status of these commands may have changed since the last look.
    pub(crate) command_reported: bool,
    /// Whether a signal arrived while the task was read from the store.
    pub(crate) has_missed: bool,
    /// The number of signals since a reader began to catch up.
    pub(crate) hurries: u32,
    /// The newest records, for readers; empty if there are no readers.
    tail: Tail,
    pub(crate) readers: Slab<Reader>,
    /// The memory of a large task, counted among the memory of all tasks.
    reserved: Option<Permit>,
    /// Whether the content of the ended task was evicted from memory. Its state is still here.
    pub(crate) is_evicted: bool,
    /// Whether a runner works on the task. Only the code that sets this flag can commit.
    pub(crate) running: bool,
    /// Controls that the runner has not taken yet; empty if there is no runner.
    inbox: VecDeque<Control>,
    /// The number of messages of the runner that wait for their turn, or may wait.
    pub(crate) queued: usize,
    /// The progress of the messages without an ended turn, if the engine deduplicates messages.
    pub(crate) turns_in_progress: Vec<(MessageId, TurnProgress)>,
    pub(crate) runner: Option<Waker>,
    /// The waker of the writer while it waits for slow readers.
    pub(crate) backpressure: Option<Waker>,
    /// The number of references that keep the task in the registry.
    pub(crate) references: usize,
    /// Whether the task was ever in the registry.
    pub(crate) registered: bool,
    /// The direct answer of the agent instead of a task.
    pub(crate) direct: Option<Message>,
    /// The reason why no more records come.
    pub(crate) broken: Option<Error>,
}

impl LiveTask {
    /// A task that must be read from the store.
    pub(crate) fn new(scope: Scope, id: TaskId) -> Self {
        Self::with(scope, id, OnceCell::new())
    }

    /// A task that is created on this node.
    pub(crate) fn made_here(scope: Scope, id: TaskId) -> Self {
        Self::with(scope, id, OnceCell::new_with(Some(())))
    }

    fn with(scope: Scope, id: TaskId, loaded: OnceCell<()>) -> Self {
        Self {
            id,
            scope,
            loaded,
            catching_up: tokio::sync::Mutex::default(),
            snapshot: Snapshot::default(),
            state: Mutex::new(LiveState {
                task: Arc::default(),
                fold: Fold::default(),
                sequence: 0,
                status_sequence: 0,
                is_committing: false,
                epoch: None,
                remote_calls: Vec::new(),
                command_reported: false,
                has_missed: false,
                hurries: 0,
                tail: Tail::default(),
                readers: Slab::new(),
                reserved: None,
                is_evicted: false,
                running: false,
                inbox: VecDeque::new(),
                queued: 0,
                turns_in_progress: Vec::new(),
                runner: None,
                backpressure: None,
                references: 0,
                registered: false,
                direct: None,
                broken: None,
            }),
        }
    }

    /// Whether an erasure covers the task.
    pub(crate) fn is_of(&self, erase: &Erase) -> bool {
        match erase {
            Erase::Tenant(tenant) => self.scope.tenant == *tenant,
            Erase::Scope(scope) => self.scope == *scope,
            Erase::Context(scope, context) => {
                self.scope == *scope && self.lock().task.context_id.as_ref() == Some(context)
            }
            Erase::Task(scope, id) => self.scope == *scope && self.id == *id,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock()
    }

    /// Takes the task of the store. Readers read missing records from the store.
    pub(crate) fn fill(&self, stored: Stored) {
        self.change(|state| state.fill(stored));
    }

    /// Publishes committed records to the readers. `epoch` is `None` if the commit released the task. `snapshot` is the
    /// task after the records, if the writer has folded it already. Returns the records in memory.
    pub(crate) fn publish(
        &self,
        records: &[Record],
        snapshot: Option<Arc<Task>>,
        epoch: Option<u64>,
        budget: &Arc<ReaderBudget>,
    ) -> Backlog {
        self.change(|state| {
            state.epoch = epoch;
            state.is_committing = false;
            state.advance(records, snapshot, budget);
            state.backlog()
        })
    }

    /// Publishes records of another node after a sequence number, if this number is still the last one here and this
    /// node does not own the task. Returns the records in memory.
    pub(crate) fn follow(&self, records: &[Record], after: u64, budget: &Arc<ReaderBudget>) -> Option<Backlog> {
        if records.is_empty() {
            return None;
        }
        self.change(|state| {
            let is_next = !state.is_owned() && state.sequence == after;
            is_next.then(|| {
                state.advance(records, None, budget);
                state.backlog()
            })
        })
    }

    /// Takes the task of the store if the store has dropped the log records.
    pub(crate) fn refill(&self, stored: Stored, after: u64) {
        self.change(|state| {
            if !state.is_owned() && state.sequence == after && stored.sequence > after {
                state.fill(stored);
            }
        });
    }

    /// Ends the task on this node. Readers at the end of the log get this error, unless another error was set before.
    pub(crate) fn break_off(&self, error: Error) {
        self.change(|state| {
            state.broken.get_or_insert(error);
        });
    }

    /// Ends the task because the engine stops. Waiting callers learn whether the task exists in the store.
    pub(crate) fn stop(&self) {
        self.change(|state| {
            let is_stored = state.sequence > 0;
            state.broken.get_or_insert_with(|| if is_stored { stopping_at(&self.id) } else { stopping() });
        });
    }

    /// Changes the state and wakes all readers.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut LiveState) -> T) -> T {
        let mut wakers = Vec::new();
        let changed = {
            let mut state = self.lock();
            let changed = change(&mut state);
            wakers.extend(state.readers.iter_mut().filter_map(|(_, reader)| reader.waker.take()));
            changed
        };
        wakers.into_iter().for_each(Waker::wake);
        changed
    }
}

impl LiveState {
    pub(crate) fn task_state(&self) -> TaskState {
        self.task.state()
    }

    /// Whether this node owns the task, so that no other node can write.
    pub(crate) fn is_owned(&self) -> bool {
        self.epoch.is_some()
    }

    /// Whether a reader on this node needs the records of other nodes.
    pub(crate) fn is_followed(&self) -> bool {
        let is_read = !self.readers.is_empty() || !self.remote_calls.is_empty();
        is_read && !self.is_owned() && self.sequence > 0 && !self.task_state().is_terminal()
    }

    fn fill(&mut self, stored: Stored) {
        self.status_sequence = stored.sequence;
        self.task = stored.task;
        self.is_evicted = false;
        self.is_committing = false;
        self.sequence = stored.sequence;
        self.tail.clear();
    }

    fn advance(&mut self, records: &[Record], snapshot: Option<Arc<Task>>, budget: &Arc<ReaderBudget>) {
        if let Some(task) = snapshot {
            self.task = task;
        } else {
            let task = Arc::make_mut(&mut self.task);
            for record in records {
                if let Err(error) = self.fold.apply(task, record) {
                    tracing::error!(task = %task.id, %error, "live: a committed record does not apply");
                }
            }
        }
        for record in records {
            self.sequence = record.sequence();
            if is_status(record) {
                self.status_sequence = self.sequence;
            }
        }
        if self.readers.is_empty() {
            self.tail.clear();
        } else {
            let many = self.is_read_by_many();
            if many {
                records.iter().filter_map(Record::as_update).for_each(|event| event.keep_encodings());
            }
            self.tail.extend(records, many, budget);
            self.trim();
        }
    }
}

pub(crate) fn set_waker(slot: &mut Option<Waker>, cx: &Context<'_>) {
    match slot {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *slot = Some(cx.waker().clone()),
    }
}

fn is_status(record: &Record) -> bool {
    use nuncio_model::StreamResponse::{StatusUpdate, Task};
    record.as_update().is_some_and(|event| matches!(event.response, StatusUpdate(_) | Task(_)))
}
