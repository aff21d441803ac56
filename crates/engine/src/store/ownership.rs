//! The ownership of tasks, and tasks without a runner.

use std::sync::Arc;

use nuncio_model::{Scope, Task, TaskId};

use super::{Command, NodeId};

/// The result of a claim.
#[derive(Debug, Clone)]
pub enum Claim {
    /// This node owns the task.
    Owned {
        /// The task.
        stored: Stored,
        /// Whether a node was running the task: a failed node or this node. The last turn must run again or fail.
        abandoned: bool,
        /// The unacknowledged commands for the task, oldest first.
        commands: Vec<Command>,
    },
    /// Another node runs the task.
    Held(NodeId),
}

/// A task with its position and epoch in the store.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The task at the record `sequence`.
    pub task: Arc<Task>,
    /// The sequence number of the last record.
    pub sequence: u64,
    /// The epoch under which the task is owned.
    pub epoch: u64,
}

/// A task that a crash left running.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Orphan {
    /// The scope of the task.
    pub scope: Scope,
    /// The id of the task.
    pub id: TaskId,
}

/// A page of the tasks that a node runs.
#[derive(Debug, Default)]
pub struct AtWorkPage {
    /// The tasks.
    pub tasks: Vec<AtWork>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<Box<str>>,
}

/// A task that a node runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// The scope of the task.
    pub scope: Scope,
    /// The id of the task.
    pub id: TaskId,
    /// The epoch under which the node owns the task.
    pub epoch: u64,
    /// The sequence number of the last record.
    pub sequence: u64,
}
