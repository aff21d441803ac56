//! The requests of housekeeping to a store: old tasks, tasks that wait too long, and all tasks.

use nuncio_model::{ContextId, Scope, TaskId, TaskState, Tenant, Timestamp};

use super::{PushConfig, StoreError, Stored};

/// The filter of old tasks to delete.
#[derive(Debug, Clone)]
pub struct Purge {
    /// Only tasks of this tenant; `None` for all tenants.
    pub tenant: Option<Tenant>,
    /// Not the tasks of these tenants, which have rules of their own.
    pub except: Vec<Tenant>,
    /// Only tasks in one of these states.
    pub states: Vec<TaskState>,
    /// Only tasks with a status before this time.
    pub before: Timestamp,
    /// The largest number of tasks.
    pub limit: usize,
}

impl Purge {
    /// Tasks of all tenants in these states with a status before this time, at most 1,000.
    pub fn new(states: impl Into<Vec<TaskState>>, before: Timestamp) -> Self {
        Self { tenant: None, except: Vec::new(), states: states.into(), before, limit: 1_000 }
    }

    /// Whether the filter includes tasks of this tenant.
    pub fn is_of(&self, tenant: &Tenant) -> bool {
        self.tenant.as_ref().is_none_or(|only| only == tenant) && !self.except.contains(tenant)
    }
}

/// The tasks to delete in any state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Erase {
    /// All tasks of a tenant.
    Tenant(Tenant),
    /// All tasks of a caller in a tenant.
    Scope(Scope),
    /// All tasks of a context of a caller.
    Context(Scope, ContextId),
    /// One task.
    Task(Scope, TaskId),
}

/// A page of all tasks.
#[derive(Debug, Default)]
pub struct ScanPage {
    /// The tasks.
    pub tasks: Vec<Scanned>,
    /// Tasks of the page that exist but cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<Box<str>>,
}

/// A task with its scope and its push configurations, including their secrets.
#[derive(Debug, Clone)]
pub struct Scanned {
    /// The scope of the task.
    pub scope: Scope,
    /// The task.
    pub stored: Stored,
    /// The push configurations, by id.
    pub configs: Vec<PushConfig>,
}

/// A task that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The scope of the task.
    pub scope: Scope,
    /// The id of the task.
    pub id: TaskId,
    /// The reason: `Corrupt`.
    pub error: StoreError,
}
