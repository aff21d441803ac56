//! Counts tasks per scope without reading the tasks.

use nuncio_model::{ContextId, Scope, TaskId};

/// Selects the tasks to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// All tasks.
    All,
    /// The tasks of a context, in all scopes: two callers can have contexts with the same id.
    Context(&'a ContextId),
    /// The task with this id.
    Task(&'a TaskId),
}

/// A scope and the number of its selected tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// The scope that owns the tasks.
    pub scope: Scope,
    /// The number of tasks, at least 1.
    pub tasks: u64,
}
