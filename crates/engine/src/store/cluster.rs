//! What a store adds where several nodes share it: which of them live, and commands from one to the task of another.
//!
//! A node is one process that has the store open. It lives for as long as it says so within the lease, by the clock of
//! the store, which is the only one that all agree on. A task at work belongs to one node under an epoch; a node that
//! is silent for a lease loses its tasks to whoever claims them, and the epoch keeps it from writing to them.
//!
//! A message or a cancel for a task at work on another node goes there as a *command*: a row of the store, so that it is
//! not lost with a bus, a connection or either node. A message's command is taken in the very commit that has the
//! message in its records, so it is in the log once or not at all.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use nuncio_model::{Scope, TaskId};

use super::StoreError;

/// A node: one process for as long as it keeps its lease. One that has lost it goes on under another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The id of a command. It is made by who writes it, and unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId(pub Box<str>);

impl CommandId {
    /// A new one.
    pub fn generate() -> Self {
        Self(nuncio_model::MessageId::generate().as_str().into())
    }
}

/// The part of a store that exists where several nodes share it.
///
/// `nuncio_suites::cluster_suite!` holds an implementation against this contract.
#[async_trait]
pub trait Cluster: Send + Sync {
    /// How long a node may be silent before it counts as gone.
    fn lease(&self) -> Duration;

    /// This node, as of now: another after each [`Lease::Lost`].
    fn node(&self) -> NodeId;

    /// Says that this node lives.
    ///
    /// # Errors
    ///
    /// `Unavailable` when the store does not answer; the lease goes on meanwhile.
    async fn renew(&self) -> Result<Lease, StoreError>;

    /// Leaves a command for a task that is at work on another node. Nothing is left unless it is `Stored`. A command of an
    /// id that is there already is not left again, and is never [`NoOwner`](Enqueued::NoOwner): whoever does not know what
    /// came of this says it again.
    async fn enqueue(&self, command: &Command) -> Result<Enqueued, StoreError>;

    /// The commands to tasks of this node that nobody has taken, oldest first, at most `limit`.
    async fn pending(&self, limit: usize) -> Result<Vec<Command>, StoreError>;

    /// Notes how far a command has come; one that is not there is no error.
    async fn report(&self, id: &CommandId, report: Report) -> Result<(), StoreError>;

    /// How far these commands have come, in the same order; `None` for one that is not there. One query.
    async fn statuses(&self, ids: &[CommandId]) -> Result<Vec<Option<CommandStatus>>, StoreError>;

    /// How far a command has come; `None` where it is not there.
    async fn status(&self, id: &CommandId) -> Result<Option<CommandStatus>, StoreError> {
        self.statuses(std::slice::from_ref(id)).await.map(|mut statuses| statuses.pop().flatten())
    }

    /// Takes a command back, unless somebody has taken it. Whether it was there and nobody had.
    async fn cancel(&self, id: &CommandId) -> Result<bool, StoreError>;

    /// Throws a command away that is done with.
    async fn delete(&self, id: &CommandId) -> Result<(), StoreError>;
}

/// What became of a node's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// It was renewed.
    Kept,
    /// It was over. The node has another id now, and its tasks may be somebody else's.
    Lost,
}

/// Something for a task at work on another node.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Its id.
    pub id: CommandId,
    /// Whose task it is.
    pub scope: Scope,
    /// The task.
    pub task: TaskId,
    /// What it says. The store does not read it.
    pub body: Box<[u8]>,
}

/// Where a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enqueued {
    /// It was left, now or before, for this node, which lives and is at work on the task.
    Stored(NodeId),
    /// It was left before, and nobody who lives is at work on the task any more: a claim brings it.
    Waits,
    /// Nobody who lives is at work on the task, and nothing was left: claim it.
    NoOwner,
    /// There is no such task.
    NoTask,
}

/// How far a command has come, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The turn of its message begins: it speaks from the record after this one.
    Begun(u64),
    /// The turn of its message came to rest with this record.
    Rested(u64),
    /// Nothing will come of it. The store does not read the reason.
    Refused(Box<[u8]>),
}

/// What the writer of a command can know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandStatus {
    /// The record that has its message, once a commit took it ([`Commit::acks`](super::Commit)).
    pub acked: Option<u64>,
    /// See [`Report::Begun`].
    pub begun: Option<u64>,
    /// See [`Report::Rested`].
    pub rested: Option<u64>,
    /// See [`Report::Refused`].
    pub refused: Option<Box<[u8]>>,
    /// The node that lives and is at work on its task.
    pub holder: Option<NodeId>,
}
