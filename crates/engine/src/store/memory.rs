//! Tasks in memory. The tasks are lost with the process.
//!
//! A commit locks the task. If the status changes, the commit also locks the lists of the scope and the context for one
//! insert. Reads of other tasks do not wait.

mod builder;
mod hooks;
mod index;
mod key;
mod line;
mod list;
mod messages;
mod node;
mod order;
mod pushes;
mod retention;
mod tables;
mod upkeep;
mod work;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
pub use builder::MemoryStoreBuilder;
use nuncio_model::{MessageId, PushConfigId, Scope, TaskId, TaskState, Timestamp};
use parking_lot::Mutex;

use self::{
    hooks::Outbox,
    node::{Head, LogPolicy, MemoryNode},
    retention::MemoryRetention,
    tables::Tables,
    work::Work,
};
use super::{
    AtWorkPage, Claim, Commit, Committed, DuePush, Erase, ListPage, ListQuery, Orphan, Portion, Purge, PushConfig,
    PushSettlement, ScanPage, StoreError, Stored, TaskStore,
};
use crate::record::Record;

/// This process is the only owner.
const EPOCH: u64 = 1;

/// Message ids that are forgotten under one lock.
const FORGOTTEN: usize = 1024;

/// Stores tasks in memory, up to a number of tasks ([`MemoryStoreBuilder::max_tasks`]).
///
/// Dropping the store drops the tasks. The store keeps the records of a task until the task has ended and no push
/// configuration has pending records.
pub struct MemoryStore {
    tables: Tables,
    outbox: Outbox,
    retention: MemoryRetention,
    work: Work,
    logs: LogPolicy,
    agent: Mutex<Option<String>>,
}

impl MemoryStore {
    /// An empty store with the default settings of [`MemoryStoreBuilder`].
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A builder for an empty store.
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder::new()
    }

    fn with(logs: LogPolicy, retention: MemoryRetention) -> Self {
        Self {
            tables: Tables::new(),
            outbox: Outbox::default(),
            retention,
            work: Work::default(),
            logs,
            agent: Mutex::default(),
        }
    }

    fn create(&self, commit: Commit) -> Result<Committed, StoreError> {
        let coming = self.tables.coming(&commit.scope);
        let node = Arc::new(MemoryNode {
            id: commit.id.clone(),
            context: commit.context.clone(),
            scope: coming.scope(),
            head: Mutex::new(Head::new()),
        });
        let mut head = node.head.lock();
        if !self.tables.add_task(&node) {
            return Err(StoreError::Conflict);
        }
        if let Err(error) = node.remember(&commit) {
            head.deleted = true;
            self.tables.remove_task(&node);
            return Err(error);
        }
        self.retention.added();
        let committed = self.write(&node, &mut head, commit)?;
        self.tables.list(node.entry(&head));
        drop(head);
        if self.retention.is_over() {
            self.evict();
        }
        Ok(committed)
    }

    fn append(&self, commit: Commit) -> Result<Committed, StoreError> {
        let node = self.tables.task(&commit.scope, &commit.id).ok_or(StoreError::Conflict)?;
        let mut head = node.head.lock();
        if head.deleted || head.sequence != commit.expected || commit.epoch != EPOCH {
            return Err(StoreError::Conflict);
        }
        node.remember(&commit)?;
        let before = (head.at, head.state);
        let committed = self.write(&node, &mut head, commit)?;
        if (head.at, head.state) != before {
            let place = order::Place { at: before.0, id: node.id.as_str() };
            self.tables.relist(before.1, place, node.entry(&head));
        }
        Ok(committed)
    }

    fn write(&self, node: &Arc<MemoryNode>, head: &mut Head, mut commit: Commit) -> Result<Committed, StoreError> {
        let configs = std::mem::take(&mut commit.push_configs);
        if !configs.is_empty() {
            pushes::add(head, configs);
        }
        let has_pending_push = !head.hooks().is_empty();
        if has_pending_push {
            pushes::add_pending(&self.outbox, node, head, commit.sequence());
        }
        let was_at_work = head.sequence > 0 && !head.released;
        head.append(commit, self.logs)?;
        self.work.changed(node, was_at_work, head);
        if head.released {
            self.retention.released(node, head);
        }
        Ok(Committed { epoch: EPOCH, has_pending_push })
    }

    fn evict(&self) {
        self.retention.evict(|node, head| self.forget(node, head));
    }

    /// Looks at a task, if it exists.
    fn with_head<R>(
        &self,
        scope: &Scope,
        id: &TaskId,
        look: impl FnOnce(&Arc<MemoryNode>, &mut Head) -> R,
    ) -> Option<R> {
        let node = self.tables.task(scope, id)?;
        let mut head = node.head.lock();
        // A task without records is being created.
        if head.deleted || head.sequence == 0 { None } else { Some(look(&node, &mut head)) }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("logs", &self.logs).finish_non_exhaustive()
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        if commit.expected == 0 { self.create(commit) } else { self.append(commit) }
    }

    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        self.with_head(scope, id, |_, head| head.stored()).transpose()
    }

    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError> {
        let owned = |_: &Arc<MemoryNode>, head: &mut Head| {
            Ok(Claim::Owned { stored: head.stored()?, abandoned: !head.released, commands: Vec::new() })
        };
        self.with_head(scope, id, owned).transpose()
    }

    async fn sequences(&self, tasks: &[(Scope, TaskId)]) -> Result<Vec<Option<u64>>, StoreError> {
        Ok(tasks.iter().map(|(scope, id)| self.with_head(scope, id, |_, head| head.sequence)).collect())
    }

    async fn events_after(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        self.with_head(scope, id, |_, head| head.events_after(after, portion)).unwrap_or(Ok(Vec::new()))
    }

    async fn task_of_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        since: Timestamp,
    ) -> Result<Option<TaskId>, StoreError> {
        Ok(self.tables.scope(scope).and_then(|scope| scope.messages.lock().find(message, since)))
    }

    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError> {
        for scope in self.tables.scopes(|_| true) {
            while scope.messages.lock().forget_before(before, FORGOTTEN) == FORGOTTEN {}
        }
        Ok(())
    }

    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
        list::list(self, scope, query)
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        Ok(work::orphans(self, limit))
    }

    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError> {
        Ok(work::at_work(self, after, limit))
    }

    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError> {
        let Some(id) = config.config.task_id.clone() else { return Ok(false) };
        let put = self.with_head(scope, &id, |node, head| {
            pushes::put(&self.outbox, node, head, config);
            head.trim(self.logs)
        });
        put.transpose().map(|put| put.is_some())
    }

    async fn push_configs(&self, scope: &Scope, task: &TaskId) -> Result<Option<Vec<PushConfig>>, StoreError> {
        Ok(self.with_head(scope, task, |_, head| head.hooks().iter().map(hooks::Hook::to_config).collect()))
    }

    async fn delete_push_config(&self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError> {
        let deleted = self.with_head(scope, task, |node, head| {
            pushes::delete(&self.outbox, node, head, id);
            head.trim(self.logs)
        });
        deleted.transpose().map(|deleted| deleted.is_some())
    }

    async fn due_pushes(&self, now: Timestamp, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        Ok(pushes::due(&self.outbox, now, limit))
    }

    async fn next_push(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.outbox.next())
    }

    async fn settle_push(&self, settlement: PushSettlement) -> Result<(), StoreError> {
        let settled = self.with_head(&settlement.scope, &settlement.task, |node, head| {
            pushes::settle(&self.outbox, node, head, &settlement);
            head.trim(self.logs)
        });
        settled.transpose().map(|_| ())
    }

    async fn purge(&self, purge: &Purge) -> Result<usize, StoreError> {
        Ok(upkeep::purge(self, purge))
    }

    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        Ok(upkeep::resting(self, states, before, limit))
    }

    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError> {
        Ok(upkeep::erase(self, erase))
    }

    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
        upkeep::scan(self, after, limit)
    }

    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        upkeep::compact(self, before, limit)
    }

    async fn belongs_to(&self, agent: &str, adopt: bool) -> Result<Option<String>, StoreError> {
        let has_tasks = !upkeep::scan(self, None, 1)?.tasks.is_empty();
        let mut noted = self.agent.lock();
        let other = noted.as_ref().filter(|noted| *noted != agent && has_tasks && !adopt).cloned();
        if other.is_none() {
            *noted = Some(agent.to_owned());
        }
        Ok(other)
    }

    async fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
