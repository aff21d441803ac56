//! Whose tasks there are, told without reading any of them.

use nuncio_model::{ContextId, Scope, TaskId};

/// Which tasks are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// All that there are.
    All,
    /// Those of a context, whosever it is: two callers may have one of the same id.
    Context(&'a ContextId),
    /// This one.
    Task(&'a TaskId),
}

/// Whose tasks these are, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// Whose.
    pub scope: Scope,
    /// How many; at least one.
    pub tasks: u64,
}
