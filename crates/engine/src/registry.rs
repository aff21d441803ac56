//! The live tasks of this node. A task is live while it runs, is read, or is used by an operation. The registry has one
//! entry per task, so a node never has two writers of one task.

use std::{hash::BuildHasher, ops::Deref, sync::Arc};

use hashbrown::HashTable;
use nuncio_limit::{Hashing, hashing};
use nuncio_model::{Scope, TaskId};
use parking_lot::Mutex;

use crate::live::LiveTask;

const SHARDS: usize = 64;

/// Live tasks with the hash of their ids. The stored hash saves an access to the task when the table grows.
type Shard = Mutex<HashTable<(u64, Arc<LiveTask>)>>;

/// Live tasks by id and scope. Shards limit the number of callers that wait while a table grows.
///
/// Lock order: first a shard, then a task in the shard.
pub(crate) struct Registry {
    shards: Box<[Shard]>,
    hasher: Hashing,
}

impl Registry {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: hashing() })
    }

    fn shard(&self, id: &TaskId) -> (&Shard, u64) {
        let hash = self.hasher.hash_one(id);
        // The table uses the lowest and the highest bits itself.
        (&self.shards[(hash >> 32) as usize % SHARDS], hash)
    }

    /// The task, if it is live.
    pub(crate) fn find(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> Option<TaskRef> {
        let (shard, hash) = self.shard(id);
        let shard = shard.lock();
        let (_, live) = shard.find(hash, |(_, live)| live.id == *id && live.scope == *scope)?;
        Some(self.reference(live))
    }

    /// The live tasks with this id in all scopes.
    pub(crate) fn find_all(self: &Arc<Self>, id: &TaskId) -> Vec<TaskRef> {
        let (shard, hash) = self.shard(id);
        let shard = shard.lock();
        shard.iter_hash(hash).filter(|(_, live)| live.id == *id).map(|(_, live)| self.reference(live)).collect()
    }

    /// The task. Makes the task live if necessary.
    pub(crate) fn find_or_insert(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> TaskRef {
        let (shard, hash) = self.shard(id);
        let mut shard = shard.lock();
        let is_same = |(_, live): &(u64, Arc<LiveTask>)| live.id == *id && live.scope == *scope;
        let entry = shard.entry(hash, is_same, |(hash, _)| *hash).or_insert_with(|| {
            let live = LiveTask::new(scope.clone(), id.clone());
            live.lock().registered = true;
            (hash, Arc::new(live))
        });
        self.reference(&entry.get().1)
    }

    /// A new task that is not in the table until [`Self::insert`].
    pub(crate) fn create(self: &Arc<Self>, scope: &Scope, id: TaskId) -> TaskRef {
        self.reference(&Arc::new(LiveTask::made_here(scope.clone(), id)))
    }

    /// Adds a new task to the table.
    pub(crate) fn insert(&self, live: &Arc<LiveTask>) {
        let (shard, hash) = self.shard(&live.id);
        let mut shard = shard.lock();
        let is_same = |(_, other): &(u64, Arc<LiveTask>)| other.id == live.id && other.scope == live.scope;
        live.lock().registered = true;
        shard.entry(hash, is_same, |(hash, _)| *hash).insert((hash, Arc::clone(live)));
    }

    /// Removes a task from the table.
    pub(crate) fn remove(&self, live: &Arc<LiveTask>) {
        self.remove_if(live, || true);
    }

    fn remove_if(&self, live: &Arc<LiveTask>, condition: impl FnOnce() -> bool) {
        let (shard, hash) = self.shard(&live.id);
        if let Ok(entry) = shard.lock().find_entry(hash, |(_, other)| Arc::ptr_eq(other, live))
            && condition()
        {
            entry.remove();
        }
    }

    /// The number of live tasks.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// All live tasks.
    pub(crate) fn all(&self) -> Vec<Arc<LiveTask>> {
        let all_of = |shard: &Shard| shard.lock().iter().map(|(_, live)| Arc::clone(live)).collect::<Vec<_>>();
        self.shards.iter().flat_map(all_of).collect()
    }

    fn reference(self: &Arc<Self>, live: &Arc<LiveTask>) -> TaskRef {
        live.lock().references += 1;
        TaskRef { live: Arc::clone(live), registry: Arc::clone(self) }
    }
}

/// Keeps a task in the registry until the reference is dropped. Cloning and dropping a reference lock the task.
pub(crate) struct TaskRef {
    live: Arc<LiveTask>,
    registry: Arc<Registry>,
}

impl TaskRef {
    pub(crate) fn live(&self) -> &Arc<LiveTask> {
        &self.live
    }
}

impl Clone for TaskRef {
    fn clone(&self) -> Self {
        self.registry.reference(&self.live)
    }
}

impl Deref for TaskRef {
    type Target = LiveTask;
    fn deref(&self) -> &LiveTask {
        &self.live
    }
}

impl Drop for TaskRef {
    fn drop(&mut self) {
        let (is_last, task) = {
            let mut state = self.live.lock();
            state.references -= 1;
            (state.references == 0 && state.registered, state.evict_task())
        };
        drop(task);
        if is_last {
            // Another caller may have found the task since. Under the lock of the shard, no caller can find it.
            self.registry.remove_if(&self.live, || self.live.lock().references == 0);
        }
    }
}
