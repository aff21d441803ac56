//! Where tasks, scopes and contexts are found: hash tables in shards, so that the growth of one stalls only a part, and
//! for well under a millisecond.

use std::{
    hash::{BuildHasher, Hash},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hashbrown::{HashTable, hash_table::Entry as Slot};
use nuncio_model::{ContextId, Scope, TaskId, TaskState};
use parking_lot::Mutex;

use super::{
    index::{InContext, Lists},
    node::Node,
    order::{Entry, Place},
};
use crate::hashing::{Hashing, hashing};

const SHARDS: usize = 64;

/// A scope, and the lists of its tasks.
pub(super) struct ScopeLists {
    pub(super) scope: Scope,
    pub(super) lists: Mutex<Lists>,
    /// How many tasks are about to be added.
    coming: AtomicUsize,
}

/// Keeps a scope in the table while a task is added to it.
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

/// A hash table that keeps the hashes, so that growing does not touch what it points to.
type Shard<T> = Mutex<HashTable<(u64, T)>>;

struct Shards<T> {
    shards: Box<[Shard<T>]>,
}

impl<T> Shards<T> {
    fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, hash: u64) -> &Shard<T> {
        // The table itself uses the lowest and the highest bits.
        &self.shards[(hash >> 32) as usize % SHARDS]
    }
}

/// All tasks, and the contexts and scopes that they belong to.
pub(super) struct Tables {
    hasher: Hashing,
    tasks: Shards<Arc<Node>>,
    contexts: Shards<InContext>,
    scopes: Shards<Arc<ScopeLists>>,
}

impl Tables {
    pub(super) fn new() -> Self {
        Self { hasher: hashing(), tasks: Shards::new(), contexts: Shards::new(), scopes: Shards::new() }
    }

    /// The task, when it is of this scope.
    pub(super) fn task(&self, scope: &Scope, id: &TaskId) -> Option<Arc<Node>> {
        let hash = self.hash(id);
        let tasks = self.tasks.shard(hash).lock();
        let node = tasks.find(hash, |(_, node)| node.id == *id).map(|(_, node)| Arc::clone(node))?;
        drop(tasks);
        (node.scope.scope == *scope).then_some(node)
    }

    /// Adds a task; `false` when there is one of this id already.
    pub(super) fn add_task(&self, node: &Arc<Node>) -> bool {
        let hash = self.hash(&node.id);
        let mut tasks = self.tasks.shard(hash).lock();
        match tasks.entry(hash, |(_, other)| other.id == node.id, |(hash, _)| *hash) {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert((hash, Arc::clone(node)));
                true
            }
        }
    }

    pub(super) fn remove_task(&self, node: &Node) {
        let hash = self.hash(&node.id);
        if let Ok(slot) =
            self.tasks.shard(hash).lock().find_entry(hash, |(_, other)| std::ptr::eq(Arc::as_ptr(other), node))
        {
            slot.remove();
        }
    }

    /// The scope's lists; `None` when it has no tasks.
    pub(super) fn scope(&self, scope: &Scope) -> Option<Arc<ScopeLists>> {
        let hash = self.hash(scope);
        let scopes = self.scopes.shard(hash).lock();
        scopes.find(hash, |(_, lists)| lists.scope == *scope).map(|(_, lists)| Arc::clone(lists))
    }

    /// The lists of a scope that a task is about to be added to.
    pub(super) fn coming(&self, scope: &Scope) -> Coming {
        let hash = self.hash(scope);
        let mut scopes = self.scopes.shard(hash).lock();
        let slot = scopes.entry(hash, |(_, lists)| lists.scope == *scope, |(hash, _)| *hash);
        let slot = slot.or_insert_with(|| {
            let (lists, coming) = (Mutex::default(), AtomicUsize::new(0));
            (hash, Arc::new(ScopeLists { scope: scope.clone(), lists, coming }))
        });
        slot.get().1.coming.fetch_add(1, Ordering::AcqRel);
        Coming(Arc::clone(&slot.get().1))
    }

    /// The lists of all scopes that are wanted.
    pub(super) fn scopes(&self, wanted: impl Fn(&Scope) -> bool) -> Vec<Arc<ScopeLists>> {
        let mut scopes = Vec::new();
        for shard in &self.scopes.shards {
            let shard = shard.lock();
            scopes.extend(shard.iter().filter(|(_, lists)| wanted(&lists.scope)).map(|(_, lists)| Arc::clone(lists)));
        }
        scopes
    }

    /// The tasks of a shard; `None` beyond the last.
    pub(super) fn tasks_of_shard(&self, shard: usize) -> Option<Vec<Arc<Node>>> {
        let shard = self.tasks.shards.get(shard)?.lock();
        Some(shard.iter().map(|(_, node)| Arc::clone(node)).collect())
    }

    /// Drops a scope that nobody has a task in or is about to.
    pub(super) fn tidy_scope(&self, lists: &Arc<ScopeLists>) {
        let hash = self.hash(&lists.scope);
        let mut scopes = self.scopes.shard(hash).lock();
        // Whoever adds a task said so under this lock.
        if let Ok(slot) = scopes.find_entry(hash, |(_, other)| Arc::ptr_eq(other, lists))
            && lists.coming.load(Ordering::Acquire) == 0
            && lists.lists.lock().is_empty()
        {
            slot.remove();
        }
    }

    /// Puts a task into the lists.
    pub(super) fn list(&self, entry: Entry) {
        entry.node.scope.lists.lock().insert(entry.clone());
        let hash = self.context_hash(&entry.node.scope, &entry.node.context);
        let mut contexts = self.contexts.shard(hash).lock();
        let is_same = |(_, context): &(u64, InContext)| is_of(context, &entry.node.scope, &entry.node.context);
        match contexts.entry(hash, is_same, |(hash, _)| *hash) {
            Slot::Occupied(mut slot) => slot.get_mut().1.insert(entry),
            Slot::Vacant(slot) => {
                slot.insert((hash, InContext::One(entry)));
            }
        }
    }

    /// Moves a task in the lists: it stood at `place`.
    pub(super) fn relist(&self, state: TaskState, place: Place<'_>, entry: Entry) {
        let node = &entry.node;
        {
            let mut lists = node.scope.lists.lock();
            lists.remove(state, place);
            lists.insert(entry.clone());
        }
        let hash = self.context_hash(&node.scope, &node.context);
        let mut contexts = self.contexts.shard(hash).lock();
        if let Some((_, context)) = contexts.find_mut(hash, |(_, it)| is_of(it, &node.scope, &node.context)) {
            context.replace(state, place, entry);
        }
    }

    /// Takes a task out of the lists, where it stands at this place.
    pub(super) fn unlist(&self, node: &Node, state: TaskState, place: Place<'_>) {
        node.scope.lists.lock().remove(state, place);
        let hash = self.context_hash(&node.scope, &node.context);
        let mut contexts = self.contexts.shard(hash).lock();
        if let Ok(mut slot) = contexts.find_entry(hash, |(_, context)| is_of(context, &node.scope, &node.context))
            && slot.get_mut().1.remove(state, place)
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
        let hash = self.context_hash(scope, context);
        let contexts = self.contexts.shard(hash).lock();
        contexts.find(hash, |(_, it)| is_of(it, scope, context)).map(|(_, it)| read(it))
    }

    fn hash(&self, key: &impl Hash) -> u64 {
        self.hasher.hash_one(key)
    }

    fn context_hash(&self, scope: &Arc<ScopeLists>, context: &ContextId) -> u64 {
        self.hasher.hash_one((Arc::as_ptr(scope), context))
    }
}

fn is_of(tasks: &InContext, scope: &Arc<ScopeLists>, context: &ContextId) -> bool {
    tasks.any().is_some_and(|node| Arc::ptr_eq(&node.scope, scope) && node.context == *context)
}
