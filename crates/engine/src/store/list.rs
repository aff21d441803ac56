//! The query and the result of a list of tasks.

use std::sync::Arc;

use nuncio_model::{ContextId, Task, TaskState, Timestamp};

/// The filter of a list of tasks in a scope.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only tasks of this context.
    pub context: Option<ContextId>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// Only tasks with a status of this time or later.
    pub updated_since: Option<Timestamp>,
    /// The page size, 1 to 100.
    pub page_size: usize,
    /// The token of the previous page.
    pub page_token: Option<Box<str>>,
    /// Whether the artifacts are needed. Otherwise a store can omit them.
    pub artifacts: bool,
    /// The approximate size limit of a page in bytes. A page has at least one task. `None` means no limit. Tasks beyond
    /// the limit are not read; they are on the next page.
    pub page_bytes: Option<usize>,
    /// How many tasks match in all, if that is known from the first page. The store then gives this number back, and
    /// does not count again.
    pub total: Option<usize>,
}

/// A page of tasks.
#[derive(Debug, Clone, Default)]
pub struct ListPage {
    /// The tasks.
    pub tasks: Vec<Arc<Task>>,
    /// The token of the next page; `None` on the last page.
    pub next: Option<Box<str>>,
    /// The number of tasks that match the filter.
    pub total: usize,
}
