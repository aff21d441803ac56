//! The tasks that are live on this node. A task is here while it runs, while somebody reads it, and while an operation
//! works on it; so two writers of one task cannot exist on a node.

use std::{hash::BuildHasher, ops::Deref, sync::Arc};

use hashbrown::HashTable;
use nuncio_limit::{Hashing, hashing};
use nuncio_model::{Scope, TaskId};
use parking_lot::Mutex;

use crate::live::LiveTask;

const SHARDS: usize = 64;

/// Live tasks by the hash of their id, which is kept so that growing does not touch them.
type Shard = Mutex<HashTable<(u64, Arc<LiveTask>)>>;

/// Live tasks by id and scope, in shards, so that a table that grows stalls few.
///
/// Locks nest in one order: a shard, then a task in it.
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
        // The table itself uses the lowest and the highest bits.
        (&self.shards[(hash >> 32) as usize % SHARDS], hash)
    }

    /// The task, if it is live.
    pub(crate) fn find(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> Option<TaskRef> {
        let (shard, hash) = self.shard(id);
        let shard = shard.lock();
        let (_, live) = shard.find(hash, |(_, live)| live.id == *id && live.scope == *scope)?;
        Some(self.reference(live))
    }

    /// The live tasks of this id, in whatever scope.
    pub(crate) fn find_all(self: &Arc<Self>, id: &TaskId) -> Vec<TaskRef> {
        let (shard, hash) = self.shard(id);
        let shard = shard.lock();
        shard.iter_hash(hash).filter(|(_, live)| live.id == *id).map(|(_, live)| self.reference(live)).collect()
    }

    /// The task, live from now on if it was not.
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

    /// A new task that nobody can find until it is inserted.
    pub(crate) fn create(self: &Arc<Self>, scope: &Scope, id: TaskId) -> TaskRef {
        self.reference(&Arc::new(LiveTask::made_here(scope.clone(), id)))
    }

    /// Makes a new task one that can be found.
    pub(crate) fn insert(&self, live: &Arc<LiveTask>) {
        let (shard, hash) = self.shard(&live.id);
        let mut shard = shard.lock();
        let is_same = |(_, other): &(u64, Arc<LiveTask>)| other.id == live.id && other.scope == live.scope;
        live.lock().registered = true;
        shard.entry(hash, is_same, |(hash, _)| *hash).insert((hash, Arc::clone(live)));
    }

    /// Makes a task one that cannot be found any more.
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

    /// How many tasks are live.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Every task that is live.
    pub(crate) fn all(&self) -> Vec<Arc<LiveTask>> {
        let all_of = |shard: &Shard| shard.lock().iter().map(|(_, live)| Arc::clone(live)).collect::<Vec<_>>();
        self.shards.iter().flat_map(all_of).collect()
    }

    fn reference(self: &Arc<Self>, live: &Arc<LiveTask>) -> TaskRef {
        live.lock().references += 1;
        TaskRef { live: Arc::clone(live), registry: Arc::clone(self) }
    }
}

/// Keeps a task in the registry until it is dropped. Cloning and dropping it lock the task.
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
            // Somebody may have found it in between; under the shard's lock nobody can any more.
            self.registry.remove_if(&self.live, || self.live.lock().references == 0);
        }
    }
}
