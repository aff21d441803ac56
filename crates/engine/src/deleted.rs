//! Tasks that were deleted while they are live here: by housekeeping, by another node, or past any. The log of such a
//! task has no last record that says so, so whoever reads it has to be told, and so has its runner.

use std::sync::{Arc, atomic::Ordering};

use nuncio_model::{Error, Scope, TaskId};

use crate::{
    inbox::Control,
    live::LiveTask,
    shared::Shared,
    store::{Erase, StoreError},
};

/// How many tasks are asked for at a time.
const PAGE: usize = 1000;

impl Shared {
    /// Takes note that a task was deleted: it is not found here any more, its runner leaves it, and whoever reads it is
    /// told that there is no such task.
    pub(crate) fn forget(&self, live: &Arc<LiveTask>) {
        self.registry.remove(live);
        // The reason first: a runner that leaves for none tells its readers that the server stops.
        live.change(|state| {
            state.broken = Some(Error::task_not_found(live.id.as_str()));
            state.remote_calls.iter().for_each(|it| it.moved());
        });
        live.tell_runner(Control::Leave);
    }

    /// Whether the store still has a task that it had; one that it has not is forgotten.
    pub(crate) async fn is_there(&self, live: &Arc<LiveTask>) -> Result<bool, StoreError> {
        Ok(live.lock().sequence == 0 || !self.existing_in_page(std::slice::from_ref(live)).await?.is_empty())
    }

    /// Asks the store for all tasks that are live. Those that it has no more are forgotten; the others are given, each
    /// with the number of its last record there.
    pub(crate) async fn find_deleted(&self) -> Result<Vec<(Arc<LiveTask>, u64)>, StoreError> {
        self.existing(&self.registry.all()).await
    }

    /// Looks which of the tasks that an erasure means are gone, here and on other nodes. One that was begun after it is not.
    pub(crate) async fn find_erased(&self, erase: &Erase) -> Result<(), StoreError> {
        // Before the look: a task that is being loaded looks for erasures when it is filled in.
        self.erasures.fetch_add(1, Ordering::SeqCst);
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
        // One that has no record here may be about to be created. What is known is looked at first: the store had that.
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
                // One whose log is shorter than it was is another that has its id.
                _ => self.forget(live),
            }
        }
        Ok(there)
    }
}
