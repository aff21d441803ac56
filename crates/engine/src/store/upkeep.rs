//! What housekeeping asks of a store: which tasks are to go, which wait for too long, and all there are.

use nuncio_model::{ContextId, Scope, TaskId, TaskState, Tenant, Timestamp};

use super::{PushConfig, StoreError, Stored};

/// Which tasks go because they are old.
#[derive(Debug, Clone)]
pub struct Purge {
    /// Only those of this tenant; `None` for those of every tenant.
    pub tenant: Option<Tenant>,
    /// Not those of these tenants, which have rules of their own.
    pub except: Vec<Tenant>,
    /// Only those in one of these states.
    pub states: Vec<TaskState>,
    /// Only those whose status is older than this.
    pub before: Timestamp,
    /// How many, at most.
    pub limit: usize,
}

impl Purge {
    /// Tasks in these states whose status is older than this, of every tenant, at most 1,000.
    pub fn new(states: impl Into<Vec<TaskState>>, before: Timestamp) -> Self {
        Self { tenant: None, except: Vec::new(), states: states.into(), before, limit: 1_000 }
    }

    /// Whether tasks of this tenant are meant.
    pub fn is_of(&self, tenant: &Tenant) -> bool {
        self.tenant.as_ref().is_none_or(|only| only == tenant) && !self.except.contains(tenant)
    }
}

/// Whose tasks are deleted, whatever their state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Erase {
    /// All of a tenant.
    Tenant(Tenant),
    /// All of a caller under a tenant.
    Scope(Scope),
    /// All of a context of a caller.
    Context(Scope, ContextId),
    /// One task.
    Task(Scope, TaskId),
}

/// A page of all tasks there are.
#[derive(Debug, Default)]
pub struct ScanPage {
    /// The tasks.
    pub tasks: Vec<Scanned>,
    /// Tasks of the page that are there and cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// What to give for the next page; `None` on the last.
    pub next: Option<Box<str>>,
}

/// A task, whose it is, and its push configurations with their secrets.
#[derive(Debug, Clone)]
pub struct Scanned {
    /// Whose it is.
    pub scope: Scope,
    /// The task.
    pub stored: Stored,
    /// Its push configurations, by id.
    pub configs: Vec<PushConfig>,
}

/// A task that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Whose it is.
    pub scope: Scope,
    /// Which.
    pub id: TaskId,
    /// Why; `Corrupt`.
    pub error: StoreError,
}
