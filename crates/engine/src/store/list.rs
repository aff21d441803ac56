//! Which tasks are wanted of a list, and a page of them.

use std::sync::Arc;

use nuncio_model::{ContextId, Task, TaskState, Timestamp};

/// Which tasks of a scope.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only of this context.
    pub context: Option<ContextId>,
    /// Only in this state.
    pub state: Option<TaskState>,
    /// Only with a status of this time or later.
    pub updated_since: Option<Timestamp>,
    /// How many, 1 to 100.
    pub page_size: usize,
    /// Where the page begins: the token of the page before.
    pub page_token: Option<Box<str>>,
    /// Whether the artifacts are wanted; a store may leave them out otherwise.
    pub artifacts: bool,
    /// About how many bytes the tasks of the page may take, as the store has them; there is at least one task. `None`
    /// for any number. Tasks that do not fit are not read: they are on the next page.
    pub page_bytes: Option<usize>,
}

/// A page of tasks.
#[derive(Debug, Clone, Default)]
pub struct ListPage {
    /// The tasks.
    pub tasks: Vec<Arc<Task>>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<Box<str>>,
    /// How many tasks match in all.
    pub total: usize,
}
