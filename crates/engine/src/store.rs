//! The interface to task stores: the log, the head of each task, push configurations and their pending records.
//!
//! `nuncio_suites::store_suite!` tests an implementation against this contract.

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

/// Stores tasks.
///
/// Every call takes the [`Scope`] of the caller, and the query filters by the scope, so a task of another scope does
/// not exist for the caller. If the future of a call is dropped, the call has taken effect completely or not at all.
#[async_trait]
pub trait TaskStore: Send + Sync + 'static {
    /// Appends records to the log of a task, or creates the task (`expected` is 0). One transaction writes the records,
    /// the head, the snapshot, the push configurations and their pending records. The cost depends on the records, not
    /// on the size of the task.
    ///
    /// # Errors
    ///
    /// `Conflict` if the log does not end at `expected`, or if the epoch is not the epoch of the task. `Duplicate` if
    /// there is no conflict, and a message id in [`Commit::remember`] is already remembered. Nothing is written in both
    /// cases. If the id of a new task and a message id both exist, either error is possible. `Full` and `Unavailable` if the store
    /// cannot write; nothing is acknowledged then.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;

    /// The task at its last record.
    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError>;

    /// Claims a task for this node. Earlier owners can no longer commit.
    ///
    /// If this node already owns the task, the epoch stays, and the result says that the task was running, because a
    /// claimer has no runner. An ended task is returned without a change. If another live node runs the task, the claim
    /// fails and names that node.
    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError>;

    /// The epoch of tasks that this node creates now. The default is 1, for a store that counts the owners of each
    /// task.
    fn first_epoch(&self) -> u64 {
        1
    }

    /// The last sequence numbers of these tasks, in the same order; `None` for a missing task. The default loads each
    /// task. A store reads all heads with one query.
    async fn sequences(&self, tasks: &[(Scope, TaskId)]) -> Result<Vec<Option<u64>>, StoreError> {
        let mut sequences = Vec::with_capacity(tasks.len());
        for (scope, id) in tasks {
            sequences.push(self.load(scope, id).await?.map(|stored| stored.sequence));
        }
        Ok(sequences)
    }

    /// The records after `after`, in order, up to the portion ([`Portion`]). Fewer records only at the end of the log,
    /// and no records if the task does not exist. Time and memory depend on the content of the records.
    ///
    /// # Errors
    ///
    /// `Compacted` if the store has dropped some of the records: read the task instead. A store keeps the records of a
    /// task while the task runs and while a push configuration has pending records. Then the store can drop them.
    async fn events_after(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError>;

    /// The task that has a message with this id in this scope, if the message was remembered ([`Commit::remember`])
    /// since this time.
    async fn task_of_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        since: Timestamp,
    ) -> Result<Option<TaskId>, StoreError>;

    /// Forgets the message ids of all scopes that were remembered ([`Commit::remember`]) before a time. A store can
    /// forget them earlier or later.
    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError>;

    /// A page of tasks, newest first, by timestamp and then by id. The cost depends on the page. The page omits tasks
    /// that cannot be read, but the total includes them.
    ///
    /// # Errors
    ///
    /// `BadPageToken` if the token is invalid.
    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError>;

    /// Running tasks without a live node, oldest first: a crash left them. Also running tasks without a runner, and
    /// tasks with a command that has waited for longer than a lease.
    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError>;

    /// A page of the tasks that this node runs according to the store: tasks that were not released, and that this node
    /// owns now. The order is defined by the store, and the page follows the page of this cursor. A task that runs from
    /// the first page to the last is in exactly one page. The cost depends on the number of running tasks.
    ///
    /// # Errors
    ///
    /// `BadPageToken` if the cursor is invalid.
    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError>;

    /// Stores a push configuration, or replaces the configuration with the same id. The records after
    /// [`PushConfig::delivered`] become pending. If all records are delivered, later records become pending when they
    /// are written. Returns `false` if the task does not exist.
    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError>;

    /// The push configurations of a task, by id; `None` if the task does not exist.
    async fn push_configs(&self, scope: &Scope, task: &TaskId) -> Result<Option<Vec<PushConfig>>, StoreError>;

    /// Removes a push configuration with its pending records. A missing configuration is not an error. Returns `false`
    /// if the task does not exist.
    async fn delete_push_config(&self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError>;

    /// Push configurations with pending records and a due attempt, longest due first.
    async fn due_pushes(&self, now: Timestamp, limit: usize) -> Result<Vec<DuePush>, StoreError>;

    /// The time at which the next pending push is due; the time can be in the past.
    async fn next_push(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Stores the result of a delivery attempt. Delivered records stay delivered, even if the late result of an earlier
    /// attempt says less. If nodes share the store, failures count only while the node has reserved the push with
    /// [`due_pushes`](Self::due_pushes). A removed configuration is not an error.
    async fn settle_push(&self, settlement: PushSettlement) -> Result<(), StoreError>;

    /// Deletes old tasks with all their data: tasks without a runner and without a pending push, with a status older
    /// than a time. Returns the number of deleted tasks, which is lower than the limit only if no more tasks match.
    ///
    /// The cost depends on the number of deleted tasks and of scopes. Other writes continue meanwhile.
    async fn purge(&self, purge: &Purge) -> Result<usize, StoreError>;

    /// Interrupted tasks in one of these states with a status older than a time, oldest first.
    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError>;

    /// Deletes all tasks of a tenant, a caller or a context, or one task, in any state, with all their data. The
    /// storage keeps no remains of the data. Returns the number of tasks. The next commits of their runners conflict.
    ///
    /// # Errors
    ///
    /// `Full` and `Unavailable`. Some of the tasks may be deleted then. Call again.
    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError>;

    /// A page of all tasks of all scopes. The order is defined by the store, and the page follows the page of this
    /// cursor. A task that exists from the first page to the last is in exactly one page.
    ///
    /// # Errors
    ///
    /// `BadPageToken` if the cursor is invalid.
    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError>;

    /// Drops the logs of at most `limit` tasks that ended or were interrupted before a time and that have no pending
    /// push. The tasks stay. Returns the number of logs.
    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// The time for the age of tasks. If several nodes share the store, this is the time of one clock, so that a node
    /// with a wrong clock does not delete tasks of other nodes.
    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(Timestamp::now())
    }

    /// Sets the name of the agent that owns the tasks of the store. If another name is set and the store has tasks,
    /// returns that name and changes nothing. With `adopt`, the tasks go to the new agent in any case.
    async fn belongs_to(&self, agent: &str, adopt: bool) -> Result<Option<String>, StoreError>;

    /// The cluster interface if several nodes share the store; `None` if this process is the only one.
    fn cluster(&self) -> Option<&dyn Cluster> {
        None
    }

    /// Whether the store answers.
    async fn check(&self) -> Result<(), StoreError>;

    /// Flushes buffers and ends the lease of this node. The store is not used afterwards.
    async fn close(&self) -> Result<(), StoreError>;
}
