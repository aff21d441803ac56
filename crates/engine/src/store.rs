//! The seam to what keeps tasks: the log, the head of each task, push configurations and their pending records.
//!
//! `nuncio_suites::store_suite!` holds an implementation against this contract.

mod cluster;
mod commit;
mod error;
mod list;
mod memory;
mod ownership;
mod page_token;
mod portion;
mod pushes;
mod upkeep;

use async_trait::async_trait;
pub use cluster::{Cluster, Command, CommandId, CommandStatus, Enqueued, Lease, NodeId, Report};
pub use commit::{Commit, Committed, Remember};
pub use error::StoreError;
pub(crate) use error::{DEDUP, EARLIER_DEDUP};
pub use list::{ListPage, ListQuery};
pub use memory::{MemoryStore, MemoryStoreBuilder};
use nuncio_model::{MessageId, PushConfigId, Scope, TaskId, TaskState, Timestamp};
pub use ownership::{AtWork, AtWorkPage, Claim, Orphan, Stored};
pub use page_token::PageToken;
pub(crate) use page_token::{seal, unseal};
pub use portion::Portion;
pub use pushes::{DuePush, PushConfig, PushSettlement};
pub use upkeep::{Erase, Purge, ScanPage, Scanned, Unreadable};

use crate::record::Record;

/// Keeps tasks.
///
/// Every call takes the caller's [`Scope`], and what belongs to another scope is as if it were not there: filtering
/// happens in the query. A call whose future is dropped may or may not have taken effect, as a whole.
#[async_trait]
pub trait TaskStore: Send + Sync + 'static {
    /// Appends records to a task's log, or creates the task (`expected` is 0), in one transaction with the head, the
    /// snapshot, the push configurations and their pending records. The cost is that of the records, not of the task.
    ///
    /// # Errors
    ///
    /// `Conflict` when the log does not end at `expected` or the epoch is not the task's; nothing is written then.
    /// `Duplicate` when that is right and a message that the commit wants to be remembered is remembered already;
    /// nothing is written then either. Where a new task clashes with another of its id and with a message, it may be
    /// either. `Full` and `Unavailable` when it cannot be written; nothing is acknowledged then.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// A task as of its last record.
    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError>;

    /// A task as of its last record, for this node to write to: no earlier owner can commit to it any more. A node that
    /// owns it already keeps its epoch, and is told that it was at work: who claims has no runner. One that has ended
    /// is given without a change, as there is nothing to write. Where another node that lives is at work on the task,
    /// that stays so, and the claim tells which.
    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError>;

    /// The epoch under which this node owns the tasks that it creates now. By default 1, for a store that counts for
    /// each task how often it was taken over.
    fn first_epoch(&self) -> u64 {
        1
    }

    /// The sequence numbers of these tasks' last records, in the same order; `None` for one that is not there. By
    /// default each is loaded; a store asks once for all, at what their heads cost.
    async fn sequences(&self, tasks: &[(Scope, TaskId)]) -> Result<Vec<Option<u64>>, StoreError> {
        let mut sequences = Vec::with_capacity(tasks.len());
        for (scope, id) in tasks {
            sequences.push(self.load(scope, id).await?.map(|stored| stored.sequence));
        }
        Ok(sequences)
    }

    /// The records after `after`, in order, as many as the portion takes ([`Portion`]); fewer only at the log's end.
    /// None where there is no task. What it costs, in memory too, is about what they carry.
    ///
    /// # Errors
    ///
    /// `Compacted` when some of them are no longer kept: read the task instead. A store keeps the records of a task
    /// while it runs and while a push configuration has pending records, and may drop them after that.
    async fn events_after(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError>;

    /// The task that took a message of this id in this scope, where the message was remembered ([`Commit::remember`])
    /// since this time.
    async fn task_of_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        since: Timestamp,
    ) -> Result<Option<TaskId>, StoreError>;

    /// Forgets messages that were remembered before a time ([`Commit::remember`]), of all scopes: nobody asks for them
    /// any more. A store may take its time, and may have forgotten them already.
    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError>;

    /// A page of tasks, by time of status and then by id, newest first. The cost is that of the page. A task that
    /// cannot be read is left out of it, though not of the total.
    ///
    /// # Errors
    ///
    /// `BadPageToken` when the token was not made here.
    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError>;

    /// Tasks that are neither parked nor ended and belong to no node that lives, oldest first: a crash left them. And
    /// such as nobody is at work on, though they are submitted or working, or though a command has waited for them for
    /// longer than a lease.
    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError>;

    /// A page of the tasks that this node is at work on, as far as the store knows: those that were not let go of and
    /// that it owns as of now. In an order of the store's own, behind the page that gave this cursor. One that is at
    /// work from the first page to the last is in exactly one of them. The cost is that of the tasks at work.
    ///
    /// # Errors
    ///
    /// `BadPageToken` when the cursor was not made here.
    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError>;

    /// Stores a push configuration, or replaces the configuration with the same id. The records after
    /// [`PushConfig::delivered`] become pending; if all records are delivered, only later records do. `false` if there is
    /// no such task.
    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError>;

    /// The push configurations of a task, by id; `None` when there is no such task.
    async fn push_configs(&self, scope: &Scope, task: &TaskId) -> Result<Option<Vec<PushConfig>>, StoreError>;

    /// Removes a push configuration with its pending records; a missing configuration is no error. `false` if there is no
    /// such task.
    async fn delete_push_config(&self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError>;

    /// Push configurations that have pending records and whose next attempt is due, longest due first.
    async fn due_pushes(&self, now: Timestamp, limit: usize) -> Result<Vec<DuePush>, StoreError>;

    /// The time at which the next pending push is due; the time can be in the past.
    async fn next_push(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Notes how an attempt to deliver went. What was delivered stays so, also when a late word of an earlier attempt
    /// says less. Where nodes share the store, failures count only while the node has the push to itself by
    /// [`due_pushes`](Self::due_pushes). A configuration that was removed meanwhile is no error.
    async fn settle_push(&self, settlement: PushSettlement) -> Result<(), StoreError>;

    /// Deletes tasks that are old: those that nobody is at work on, that have no pending push, and
    /// that have been in their state since before a time, by the time of their status. All that belongs to a task goes
    /// with it. How many went: fewer than the limit only when there are no more.
    ///
    /// The cost is that of the tasks that go, and of a look per scope; writes go on meanwhile.
    async fn purge(&self, purge: &Purge) -> Result<usize, StoreError>;

    /// Tasks that rest (are parked: nobody is at work on them, and they have not ended) in one of these states since
    /// before a time, by the time of their status, oldest first.
    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError>;

    /// Deletes all tasks of a tenant, a caller or a context, or one, whatever their state, and all that belongs to
    /// them, so that nothing of them is left where the store keeps its data. How many tasks. Their runners' next
    /// commits conflict.
    ///
    /// # Errors
    ///
    /// `Full` and `Unavailable`; a part of them may be gone then. Ask again.
    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError>;

    /// A page of all tasks of all scopes, in an order of the store's own, behind the page that gave this cursor. A task
    /// that is there from the first page to the last is in exactly one of them.
    ///
    /// # Errors
    ///
    /// `BadPageToken` when the cursor was not made here.
    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError>;

    /// Drops the logs, not the tasks, of tasks that ended or were parked before a time and that have no pending push, for
    /// at most `limit` tasks. Returns the number of logs.
    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// The time by which is told what is old. Where several nodes share the store it is that of one clock, so that none
    /// of them deletes what is the others' because its own is wrong.
    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(Timestamp::now())
    }

    /// Notes that the tasks of the store are those of the agent of this name. Returns the name that was noted before if
    /// that is another one and the store has tasks: nothing is changed then. With `adopt` the tasks go to the new agent
    /// in any case.
    async fn belongs_to(&self, agent: &str, adopt: bool) -> Result<Option<String>, StoreError>;

    /// What there is where several nodes share the store; `None` where this process is the only one.
    fn cluster(&self) -> Option<&dyn Cluster> {
        None
    }

    /// Whether the store answers.
    async fn check(&self) -> Result<(), StoreError>;

    /// Writes out what is buffered, and ends this node's lease. The store is not used after it.
    async fn close(&self) -> Result<(), StoreError>;
}
