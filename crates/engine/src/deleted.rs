//! Deletion of tasks that are live on this node, by housekeeping, another node or a caller. The log of a deleted task has no
//! final record, so readers and the runner must be notified.

use std::sync::{Arc, atomic::Ordering};

use nuncio_model::{Error, Scope, TaskId};

use crate::{
    inbox::Control,
    live::LiveTask,
    shared::Shared,
    store::{Erase, StoreError},
};

/// The number of tasks in one query.
const PAGE: usize = 1000;

impl Shared {
    /// Removes a deleted task from memory: the registry no longer finds the task, its runner stops, and its readers get
    /// `TaskNotFound`.
    pub(crate) fn forget(&self, live: &Arc<LiveTask>) {
        self.registry.remove(live);
        self.recovery_queue.forget(&live.scope, &live.id);
        // The reason comes first: a runner that stops without a reason reports a stop of the server to its readers.
        live.change(|state| {
            state.broken = Some(Error::task_not_found(live.id.as_str()));
            state.remote_calls.iter().for_each(|it| it.moved());
        });
        live.tell_runner(Control::Leave);
    }

    /// Whether the store still has a task. A deleted task is removed from memory.
    pub(crate) async fn is_there(&self, live: &Arc<LiveTask>) -> Result<bool, StoreError> {
        Ok(live.lock().sequence == 0 || !self.existing_in_page(std::slice::from_ref(live)).await?.is_empty())
    }

    /// Asks the store for all live tasks. Removes deleted tasks from memory, and returns the others with the number of
    /// their last stored record.
    pub(crate) async fn find_deleted(&self) -> Result<Vec<(Arc<LiveTask>, u64)>, StoreError> {
        self.existing(&self.registry.all()).await
    }

    /// Finds the live tasks that an erasure has deleted, on this node and on others. Tasks created later remain.
    pub(crate) async fn find_erased(&self, erase: &Erase) -> Result<(), StoreError> {
        // Before the look: a task that is being loaded looks for erasures when it is filled in.
        self.erasures.fetch_add(1, Ordering::SeqCst);
        // The context of a task that is not in memory is unknown. A task that still exists gets another attempt.
        self.recovery_queue.retain_too_large(|scope, id| match erase {
            Erase::Tenant(tenant) => scope.tenant != *tenant,
            Erase::Scope(erased) | Erase::Context(erased, _) => scope != erased,
            Erase::Task(erased, task) => (scope, id) != (erased, task),
        });
        let mut meant = self.registry.all();
        meant.retain(|live| live.is_of(erase));
        for live in &meant {
            self.members.changed(&live.id, 0);
        }
        self.existing(&meant).await.map(drop)
    }

    async fn existing(&self, tasks: &[Arc<LiveTask>]) -> Result<Vec<(Arc<LiveTask>, u64)>, StoreError> {
        let mut there = Vec::new();
        for page in tasks.chunks(PAGE) {
            there.extend(self.existing_in_page(page).await?);
        }
        Ok(there)
    }

    async fn existing_in_page(&self, tasks: &[Arc<LiveTask>]) -> Result<Vec<(Arc<LiveTask>, u64)>, StoreError> {
        // A task without a record may be about to be created. The known numbers are read first, because the store had them.
        let known: Vec<_> = tasks.iter().map(|live| (live, live.lock().sequence)).filter(|it| it.1 > 0).collect();
        let asked: Vec<(Scope, TaskId)> = known.iter().map(|(live, _)| (live.scope.clone(), live.id.clone())).collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.store.sequences(&asked).await?;
        let mut there = Vec::with_capacity(stored.len());
        for ((live, known), stored) in known.into_iter().zip(stored) {
            match stored {
                Some(sequence) if sequence >= known => there.push((Arc::clone(live), sequence)),
                // If the log is shorter than before, the task was replaced by another task with this id.
                _ => self.forget(live),
            }
        }
        Ok(there)
    }
}
