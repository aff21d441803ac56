//! Whose a task is, and what is found of those that nobody sees to.

use std::sync::Arc;

use nuncio_model::{Scope, Task, TaskId};

use super::{Command, NodeId};

/// What came of a claim.
#[derive(Debug, Clone)]
pub enum Claim {
    /// This node owns the task.
    Owned {
        /// The task.
        stored: Stored,
        /// Whether a node was at work on it, one that is gone or this one: its turn has to be run again, or failed.
        abandoned: bool,
        /// Commands to the task that nobody has taken, oldest first.
        commands: Vec<Command>,
    },
    /// This node lives and is at work on it.
    Held(NodeId),
}

/// A task as a store gives it.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The task as of the record `sequence`.
    pub task: Arc<Task>,
    /// The sequence number of its last record.
    pub sequence: u64,
    /// The epoch under which it is owned.
    pub epoch: u64,
}

/// A task that a crash left running.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Orphan {
    /// Whose task it is.
    pub scope: Scope,
    /// The task.
    pub id: TaskId,
}

/// A page of the tasks that a node is at work on.
#[derive(Debug, Default)]
pub struct AtWorkPage {
    /// The tasks.
    pub tasks: Vec<AtWork>,
    /// What to give for the next page; `None` on the last.
    pub next: Option<Box<str>>,
}

/// A task that a node is at work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// Whose task it is.
    pub scope: Scope,
    /// The task.
    pub id: TaskId,
    /// The epoch under which the node owns it.
    pub epoch: u64,
    /// The sequence number of its last record.
    pub sequence: u64,
}
