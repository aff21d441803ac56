//! The additional interface of a store that several nodes share: leases, and commands from one node to the task of
//! another.
//!
//! A node is one process that uses the store. A node is live while it renews its lease; the clock of the store decides.
//! A running task belongs to one node under an epoch. A node that does not renew its lease loses its tasks to the nodes
//! that claim them, and the epoch fences its later writes.
//!
//! A message or a cancel for a task on another node is a *command*: a row of the store, so that a failure of the bus,
//! of a connection or of a node does not lose the command. The commit that writes the message also acknowledges its
//! command, so the message is in the log once or not at all.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use nuncio_model::{Scope, TaskId};

use super::StoreError;

/// A node: a process with a lease. A process that lost its lease gets a new node id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The id of a command. The sender creates the id, which is unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId(pub Box<str>);

impl CommandId {
    /// A new one.
    pub fn generate() -> Self {
        Self(nuncio_model::MessageId::generate().as_str().into())
    }
}

/// The cluster interface of a store that several nodes share.
///
/// `nuncio_suites::cluster_suite!` tests an implementation against this contract.
#[async_trait]
pub trait Cluster: Send + Sync {
    /// The time without a renewal after which a node is no longer live.
    fn lease(&self) -> Duration;

    /// The current id of this node, which changes with each [`Lease::Lost`].
    fn node(&self) -> NodeId;

    /// Renews the lease of this node.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the store does not answer. The lease continues until it expires.
    async fn renew(&self) -> Result<Lease, StoreError>;

    /// Stores a command for a task on another node. Only the result `Stored` means that the command is stored. A
    /// command id that exists is not stored again, and the result is then never [`NoOwner`](Enqueued::NoOwner). A
    /// sender that does not know the result can therefore call again.
    async fn enqueue(&self, command: &Command) -> Result<Enqueued, StoreError>;

    /// The unacknowledged commands for tasks of this node, oldest first, at most `limit`.
    async fn pending(&self, limit: usize) -> Result<Vec<Command>, StoreError>;

    /// Stores the progress of a command. A missing command is not an error.
    async fn report(&self, id: &CommandId, report: Report) -> Result<(), StoreError>;

    /// The status of these commands, in the same order; `None` for a missing command. One query.
    async fn statuses(&self, ids: &[CommandId]) -> Result<Vec<Option<CommandStatus>>, StoreError>;

    /// The status of a command; `None` if the command is missing.
    async fn status(&self, id: &CommandId) -> Result<Option<CommandStatus>, StoreError> {
        self.statuses(std::slice::from_ref(id)).await.map(|mut statuses| statuses.pop().flatten())
    }

    /// Cancels a command unless it is acknowledged. Returns whether the command existed and was not acknowledged.
    async fn cancel(&self, id: &CommandId) -> Result<bool, StoreError>;

    /// Deletes a command that is done.
    async fn delete(&self, id: &CommandId) -> Result<(), StoreError>;
}

/// The result of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// The lease was renewed.
    Kept,
    /// The lease had expired. The node has a new id, and other nodes may own its tasks.
    Lost,
}

/// A request for a task on another node.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Its id.
    pub id: CommandId,
    /// The scope of the task.
    pub scope: Scope,
    /// The id of the task.
    pub task: TaskId,
    /// The content. The store does not interpret the content.
    pub body: Box<[u8]>,
}

/// The result of storing a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enqueued {
    /// The command is stored, now or before, for this live node, which runs the task.
    Stored(NodeId),
    /// The command was stored before, and no live node runs the task: a claim returns the command.
    Waits,
    /// No live node runs the task, and nothing was stored: claim the task.
    NoOwner,
    /// The task does not exist.
    NoTask,
}

/// The progress of a command, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The turn of the message begins. Its first record is the record after this one.
    Begun(u64),
    /// The turn of the message ended with this record, and the task waits for its client.
    Rested(u64),
    /// The command was refused. The store does not interpret the reason.
    Refused(Box<[u8]>),
}

/// The status of a command for its sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandStatus {
    /// The record with the message, after a commit has acknowledged the command ([`Commit::acks`](super::Commit)).
    pub acked: Option<u64>,
    /// See [`Report::Begun`].
    pub begun: Option<u64>,
    /// See [`Report::Rested`].
    pub rested: Option<u64>,
    /// See [`Report::Refused`].
    pub refused: Option<Box<[u8]>>,
    /// The live node that runs the task.
    pub holder: Option<NodeId>,
}
