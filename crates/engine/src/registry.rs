//! The tasks that are live on this node. A task is here while it runs, while somebody reads it, and while an operation
//! works on it; so two writers of one task cannot exist on a node.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    ops::Deref,
    sync::Arc,
};

use nuncio_model::{Scope, TaskId};
use parking_lot::Mutex;

use crate::live::Live;

const SHARDS: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    id: TaskId,
    scope: Scope,
}

/// Live tasks by id and scope, in shards, so that a map that grows stalls few.
pub(crate) struct Registry {
    shards: Box<[Mutex<HashMap<Key, Arc<Live>>>]>,
    hasher: RandomState,
}

impl Registry {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: RandomState::new() })
    }

    fn shard(&self, id: &TaskId) -> &Mutex<HashMap<Key, Arc<Live>>> {
        let hash = self.hasher.hash_one(id);
        #[expect(clippy::cast_possible_truncation, reason = "any of its bits will do")]
        &self.shards[hash as usize % SHARDS]
    }

    /// The task, if it is live.
    pub(crate) fn find(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> Option<Hold> {
        let shard = self.shard(id).lock();
        if shard.is_empty() {
            return None;
        }
        let live = shard.get(&Key { id: id.clone(), scope: scope.clone() })?;
        Some(self.hold(live))
    }

    /// The task, live from now on if it was not.
    pub(crate) fn find_or_insert(self: &Arc<Self>, scope: &Scope, id: &TaskId) -> Hold {
        let mut shard = self.shard(id).lock();
        let live = shard
            .entry(Key { id: id.clone(), scope: scope.clone() })
            .or_insert_with(|| Arc::new(Live::new(scope.clone(), id.clone())));
        self.hold(live)
    }

    /// A new task that nobody can find until it is inserted.
    pub(crate) fn create(self: &Arc<Self>, scope: &Scope, id: TaskId) -> Hold {
        self.hold(&Arc::new(Live::new(scope.clone(), id)))
    }

    /// Makes a new task one that can be found.
    pub(crate) fn insert(&self, live: &Arc<Live>) {
        let key = Key { id: live.id.clone(), scope: live.scope.clone() };
        self.shard(&live.id).lock().insert(key, Arc::clone(live));
    }

    /// Every task that is live.
    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.shards.iter().flat_map(|shard| shard.lock().values().cloned().collect::<Vec<_>>()).collect()
    }

    fn hold(self: &Arc<Self>, live: &Arc<Live>) -> Hold {
        live.lock().holders += 1;
        Hold { live: Arc::clone(live), registry: Arc::clone(self) }
    }
}

/// Keeps a task in the registry until it is dropped.
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
        let last = {
            let mut inner = self.live.lock();
            inner.holders -= 1;
            inner.holders == 0
        };
        if last {
            // Somebody may have found it in between: under the shard's lock nobody can any more.
            let mut shard = self.registry.shard(&self.live.id).lock();
            let key = Key { id: self.live.id.clone(), scope: self.live.scope.clone() };
            if self.live.lock().holders == 0 && shard.get(&key).is_some_and(|live| Arc::ptr_eq(live, &self.live)) {
                shard.remove(&key);
            }
        }
    }
}
