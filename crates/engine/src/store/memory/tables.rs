//! The tables of tasks, scopes and contexts: sorted tables in shards, so that few callers wait for each other. In
//! contrast to a hash table, a sorted table does not move all entries when it grows.

use std::{
    collections::{BTreeMap, btree_map::Entry as Slot},
    hash::{BuildHasher, Hash},
    ops::Bound::{Excluded, Unbounded},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use nuncio_limit::{Hashing, hashing};
use nuncio_model::{ContextId, Scope, TaskId, TaskState};
use parking_lot::Mutex;

use super::{
    index::{InContext, Lists},
    key::Key,
    messages::Messages,
    node::MemoryNode,
    order::{Entry, Place},
};

const SHARDS: usize = 64;

/// A scope with the lists and the message ids of its tasks.
pub(super) struct ScopeLists {
    pub(super) scope: Scope,
    pub(super) lists: Mutex<Lists>,
    pub(super) messages: Mutex<Messages>,
    /// The number of tasks that are being added.
    coming: AtomicUsize,
}

impl ScopeLists {
    fn new(scope: Scope) -> Self {
        Self { scope, lists: Mutex::default(), messages: Mutex::default(), coming: AtomicUsize::new(0) }
    }
}

/// Keeps a scope in the table while a task is added.
pub(super) struct Coming(Arc<ScopeLists>);

impl Coming {
    pub(super) fn scope(&self) -> Arc<ScopeLists> {
        Arc::clone(&self.0)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.coming.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A sorted table in shards. The hash of the key selects the shard.
struct Shards<K, V> {
    hasher: Hashing,
    shards: Box<[Mutex<BTreeMap<K, V>>]>,
}

impl<K: Hash + Ord, V> Shards<K, V> {
    fn new() -> Self {
        Self { hasher: hashing(), shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, key: &K) -> &Mutex<BTreeMap<K, V>> {
        &self.shards[(self.hasher.hash_one(key) >> 32) as usize % SHARDS]
    }
}

/// All tasks with their contexts and scopes.
pub(super) struct Tables {
    tasks: Shards<Key<TaskId>, Arc<MemoryNode>>,
    contexts: Shards<ContextKey, InContext>,
    scopes: Shards<Scope, Arc<ScopeLists>>,
}

/// A context of a scope. The address identifies the scope while the table has a task of the scope.
type ContextKey = (Key<ContextId>, usize);

fn context_key(scope: &Arc<ScopeLists>, context: &ContextId) -> ContextKey {
    (Key::of(context), Arc::as_ptr(scope).addr())
}

impl Tables {
    pub(super) fn new() -> Self {
        Self { tasks: Shards::new(), contexts: Shards::new(), scopes: Shards::new() }
    }

    /// The task, if it belongs to this scope.
    pub(super) fn task(&self, scope: &Scope, id: &TaskId) -> Option<Arc<MemoryNode>> {
        let key = Key::of(id);
        let node = self.tasks.shard(&key).lock().get(&key).map(Arc::clone)?;
        (node.scope.scope == *scope).then_some(node)
    }

    /// Adds a task. Returns `false` if the id exists.
    pub(super) fn add_task(&self, node: &Arc<MemoryNode>) -> bool {
        let key = Key::of(&node.id);
        match self.tasks.shard(&key).lock().entry(key) {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert(Arc::clone(node));
                true
            }
        }
    }

    pub(super) fn remove_task(&self, node: &MemoryNode) {
        let key = Key::of(&node.id);
        if let Slot::Occupied(slot) = self.tasks.shard(&key).lock().entry(key)
            && std::ptr::eq(Arc::as_ptr(slot.get()), node)
        {
            slot.remove();
        }
    }

    /// The lists of a scope; `None` if the scope has no tasks.
    pub(super) fn scope(&self, scope: &Scope) -> Option<Arc<ScopeLists>> {
        self.scopes.shard(scope).lock().get(scope).map(Arc::clone)
    }

    /// The lists of a scope, for a task that is about to be added.
    pub(super) fn coming(&self, scope: &Scope) -> Coming {
        let mut scopes = self.scopes.shard(scope).lock();
        if !scopes.contains_key(scope) {
            scopes.insert(scope.clone(), Arc::new(ScopeLists::new(scope.clone())));
        }
        let lists = &scopes[scope];
        lists.coming.fetch_add(1, Ordering::AcqRel);
        Coming(Arc::clone(lists))
    }

    /// The lists of all selected scopes.
    pub(super) fn scopes(&self, wanted: impl Fn(&Scope) -> bool) -> Vec<Arc<ScopeLists>> {
        let mut scopes = Vec::new();
        for shard in &self.scopes.shards {
            let shard = shard.lock();
            scopes.extend(shard.values().filter(|lists| wanted(&lists.scope)).map(Arc::clone));
        }
        scopes
    }

    /// Tasks of a shard after an id in the order of the table, at most `limit`; `None` after the last shard.
    pub(super) fn tasks_of_shard(
        &self,
        shard: usize,
        after: Option<&TaskId>,
        limit: usize,
    ) -> Option<Vec<Arc<MemoryNode>>> {
        let shard = self.tasks.shards.get(shard)?.lock();
        let from = after.map_or(Unbounded, |id| Excluded(Key::of(id)));
        Some(shard.range((from, Unbounded)).take(limit).map(|(_, node)| Arc::clone(node)).collect())
    }

    /// Drops a scope without tasks, unless a task is being added.
    pub(super) fn tidy_scope(&self, lists: &Arc<ScopeLists>) {
        let mut scopes = self.scopes.shard(&lists.scope).lock();
        // A caller that adds a task has counted the task under this lock.
        if scopes.get(&lists.scope).is_some_and(|other| Arc::ptr_eq(other, lists))
            && lists.coming.load(Ordering::Acquire) == 0
            && lists.lists.lock().is_empty()
        {
            scopes.remove(&lists.scope);
        }
    }

    /// Adds a task to the lists.
    pub(super) fn list(&self, entry: Entry) {
        let node = &entry.node;
        node.scope.lists.lock().insert(entry.clone());
        let key = context_key(&node.scope, &node.context);
        match self.contexts.shard(&key).lock().entry(key) {
            Slot::Occupied(mut slot) => slot.get_mut().insert(entry),
            Slot::Vacant(slot) => {
                slot.insert(InContext::One(entry));
            }
        }
    }

    /// Moves a task in the lists from `place`.
    pub(super) fn relist(&self, state: TaskState, place: Place<'_>, entry: Entry) {
        let node = &entry.node;
        {
            let mut lists = node.scope.lists.lock();
            lists.remove(state, place);
            lists.insert(entry.clone());
        }
        let key = context_key(&node.scope, &node.context);
        if let Some(context) = self.contexts.shard(&key).lock().get_mut(&key) {
            context.replace(state, place, entry);
        }
    }

    /// Removes a task from the lists at this position.
    pub(super) fn unlist(&self, node: &MemoryNode, state: TaskState, place: Place<'_>) {
        node.scope.lists.lock().remove(state, place);
        let key = context_key(&node.scope, &node.context);
        if let Slot::Occupied(mut slot) = self.contexts.shard(&key).lock().entry(key)
            && slot.get_mut().remove(state, place)
        {
            slot.remove();
        }
    }

    /// Reads the lists of a context.
    pub(super) fn read_context<R>(
        &self,
        scope: &Arc<ScopeLists>,
        context: &ContextId,
        read: impl FnOnce(&InContext) -> R,
    ) -> Option<R> {
        let key = context_key(scope, context);
        self.contexts.shard(&key).lock().get(&key).map(read)
    }
}
