//! The tasks that are live on this node. A task is here while it runs, while somebody reads it, and while an operation
//! works on it; so two writers of one task cannot exist on a node.

use std::{hash::BuildHasher, ops::Deref, sync::Arc};

use hashbrown::HashTable;
use nuncio_limit::{Hashing, hashing};
use nuncio_model::{Scope, TaskId};
use parking_lot::Mutex;

use crate::live::Live;

const SHARDS: usize = 64;

/// Live tasks by the hash of their id, which is kept so that growing does not touch them.
type Shard = Mutex<HashTable<(u64, Arc<Live>)>>;

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
    pub(crate) fn find(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> Option<Hold> {
        let (shard, hash) = self.shard(id);
        let shard = shard.lock();
        let (_, live) = shard.find(hash, |(_, live)| live.id == *id && live.scope == *scope)?;
        Some(self.hold(live))
    }

    /// The live tasks of this id, in whatever scope.
    pub(crate) fn find_all(self: &Arc<Self>, id: &TaskId) -> Vec<Hold> {
        let (shard, hash) = self.shard(id);
        let shard = shard.lock();
        shard.iter_hash(hash).filter(|(_, live)| live.id == *id).map(|(_, live)| self.hold(live)).collect()
    }

    /// The task, live from now on if it was not.
    pub(crate) fn find_or_insert(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> Hold {
        let (shard, hash) = self.shard(id);
        let mut shard = shard.lock();
        let is_same = |(_, live): &(u64, Arc<Live>)| live.id == *id && live.scope == *scope;
        let entry = shard.entry(hash, is_same, |(hash, _)| *hash).or_insert_with(|| {
            let live = Live::new(scope.clone(), id.clone());
            live.lock().registered = true;
            (hash, Arc::new(live))
        });
        self.hold(&entry.get().1)
    }

    /// A new task that nobody can find until it is inserted.
    pub(crate) fn create(self: &Arc<Self>, scope: &Scope, id: TaskId) -> Hold {
        self.hold(&Arc::new(Live::made_here(scope.clone(), id)))
    }

    /// Makes a new task one that can be found.
    pub(crate) fn insert(&self, live: &Arc<Live>) {
        let (shard, hash) = self.shard(&live.id);
        let mut shard = shard.lock();
        let is_same = |(_, other): &(u64, Arc<Live>)| other.id == live.id && other.scope == live.scope;
        live.lock().registered = true;
        shard.entry(hash, is_same, |(hash, _)| *hash).insert((hash, Arc::clone(live)));
    }

    /// Makes a task one that cannot be found any more.
    pub(crate) fn remove(&self, live: &Arc<Live>) {
        self.remove_if(live, || true);
    }

    fn remove_if(&self, live: &Arc<Live>, condition: impl FnOnce() -> bool) {
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
    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        let all_of = |shard: &Shard| shard.lock().iter().map(|(_, live)| Arc::clone(live)).collect::<Vec<_>>();
        self.shards.iter().flat_map(all_of).collect()
    }

    fn hold(self: &Arc<Self>, live: &Arc<Live>) -> Hold {
        live.lock().holders += 1;
        Hold { live: Arc::clone(live), registry: Arc::clone(self) }
    }
}

/// Keeps a task in the registry until it is dropped. Cloning and dropping it lock the task.
pub(crate) struct Hold {
    live: Arc<Live>,
    registry: Arc<Registry>,
}

impl Hold {
    pub(crate) fn live(&self) -> &Arc<Live> {
        &self.live
    }
}

impl Clone for Hold {
    fn clone(&self) -> Self {
        self.registry.hold(&self.live)
    }
}

impl Deref for Hold {
    type Target = Live;
    fn deref(&self) -> &Live {
        &self.live
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let (is_last, task) = {
            let mut inner = self.live.lock();
            inner.holders -= 1;
            (inner.holders == 0 && inner.registered, inner.evict_task())
        };
        drop(task);
        if is_last {
            // Somebody may have found it in between; under the shard's lock nobody can any more.
            self.registry.remove_if(&self.live, || self.live.lock().holders == 0);
        }
    }
}
