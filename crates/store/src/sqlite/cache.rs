//! Caches recent tasks, so that reading a recent task needs no query.
//!
//! A reader that has seen a task must never see an earlier version afterwards. Therefore a cached task is always the
//! task after its last commit. The writer removes the task before its commit and inserts the new version after the
//! commit. A reader inserts a loaded task only if no write of this task was in progress since the read began.

use std::{
    collections::HashMap,
    hash::BuildHasher as _,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use nuncio_engine::store::Stored;
use nuncio_model::{Scope, Task, TaskId};
use parking_lot::Mutex;
use quick_cache::{DefaultHashBuilder, Weighter, sync};

const WRITE_STATES: usize = 256;

/// A task of at least so many bytes of JSON may be too large for the cache. While a caller holds such a task, it is
/// shared and not read again.
const LARGE: usize = 256 * 1024;

/// The memory of an entry besides the task, in bytes: the key, the scope and the table slots.
const OVERHEAD: usize = 512;

#[derive(Clone)]
struct Entry {
    scope: Scope,
    stored: Stored,
    weight: u64,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<TaskId, Entry> for ByBytes {
    fn weight(&self, _: &TaskId, entry: &Entry) -> u64 {
        entry.weight
    }
}

pub(super) struct Cache {
    tasks: sync::Cache<TaskId, Entry, ByBytes>,
    /// One lock per hash value of a task id. The lock is held while a task is inserted or removed.
    write_states: Box<[Mutex<WriteState>]>,
    hasher: DefaultHashBuilder,
    is_on: bool,
    large: Large,
    /// One lock per hash value of a task id. The lock is held during a read, so that concurrent readers of a large task
    /// read the task once.
    reads: Box<[Mutex<()>]>,
}

/// Weak references to tasks that are too large for the cache. A reference is valid while a caller holds the task.
#[derive(Default)]
struct Large {
    tasks: Mutex<HashMap<TaskId, LargeTask>>,
    /// The number of references, nearly always 0.
    count: AtomicUsize,
}

struct LargeTask {
    scope: Scope,
    task: Weak<Task>,
    sequence: u64,
    epoch: u64,
}

impl Large {
    fn find(&self, scope: &Scope, id: &TaskId) -> Option<Stored> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let tasks = self.tasks.lock();
        let large = tasks.get(id).filter(|large| large.scope == *scope)?;
        Some(Stored { task: large.task.upgrade()?, sequence: large.sequence, epoch: large.epoch })
    }

    fn put(&self, scope: &Scope, Stored { task, sequence, epoch }: &Stored) {
        let large = LargeTask { scope: scope.clone(), task: Arc::downgrade(task), sequence: *sequence, epoch: *epoch };
        let mut tasks = self.tasks.lock();
        tasks.retain(|_, large| large.task.strong_count() > 0);
        tasks.insert(task.id.clone(), large);
        self.count.store(tasks.len(), Ordering::Release);
    }

    fn remove(&self, id: &TaskId) {
        if self.count.load(Ordering::Acquire) > 0 {
            let mut tasks = self.tasks.lock();
            tasks.remove(id);
            self.count.store(tasks.len(), Ordering::Release);
        }
    }
}

/// The state of writes to the tasks with one hash value.
#[derive(Default)]
struct WriteState {
    /// The number of begins and ends of writes so far.
    changes: u64,
    /// The number of writes in progress.
    writes: usize,
}

/// The value of `WriteState::changes` when a reader began to read.
pub(super) struct ReadTicket(u64);

impl Cache {
    /// Creates a cache with a capacity in bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let tasks = usize::try_from(bytes / 2048).unwrap_or(usize::MAX).max(1);
        Self {
            tasks: sync::Cache::with_weighter(tasks, bytes.max(1), ByBytes),
            write_states: (0..WRITE_STATES).map(|_| Mutex::default()).collect(),
            hasher: DefaultHashBuilder::default(),
            is_on: bytes > 0,
            large: Large::default(),
            reads: (0..WRITE_STATES).map(|_| Mutex::default()).collect(),
        }
    }

    /// The task, if it is cached and belongs to this scope.
    pub(super) fn find(&self, scope: &Scope, id: &TaskId) -> Option<Stored> {
        let kept = self.tasks.get(id).filter(|entry| entry.scope == *scope).map(|entry| entry.stored);
        kept.or_else(|| self.large.find(scope, id))
    }

    /// Returns the cached task, or else the result of `read`. Concurrent callers wait while the first caller reads the
    /// task.
    pub(super) fn find_or_read<E>(
        &self,
        scope: &Scope,
        id: &TaskId,
        read: impl FnOnce() -> Result<Option<Stored>, E>,
    ) -> Result<Option<Stored>, E> {
        let _alone = self.reads[self.place(id)].lock();
        match self.find(scope, id) {
            Some(stored) => Ok(Some(stored)),
            None => read(),
        }
    }

    /// Must be called before a database read begins.
    pub(super) fn ticket(&self, id: &TaskId) -> ReadTicket {
        ReadTicket(self.write_state(id).lock().changes)
    }

    /// Inserts a task that a reader has loaded; `json` is its length in bytes of JSON.
    pub(super) fn fill(&self, ticket: &ReadTicket, scope: &Scope, stored: &Stored, json: usize) {
        let write_state = self.write_state(&stored.task.id).lock();
        if write_state.changes == ticket.0 && write_state.writes == 0 {
            self.put(scope, stored.clone(), json);
        }
    }

    /// Must be called before a write is committed.
    pub(super) fn begin_write(&self, id: &TaskId) {
        let mut write_state = self.write_state(id).lock();
        write_state.changes += 1;
        write_state.writes += 1;
        self.forget(id);
    }

    fn forget(&self, id: &TaskId) {
        self.tasks.remove(id);
        self.large.remove(id);
    }

    /// Must be called after the commit, whether or not it succeeded, with the new task if the caller knows the task. If
    /// one transaction contains several writes of a task, the last call decides.
    pub(super) fn end_write(&self, scope: &Scope, id: &TaskId, stored: Option<(Stored, usize)>) {
        let mut write_state = self.write_state(id).lock();
        write_state.changes += 1;
        write_state.writes -= 1;
        match stored {
            Some((stored, json)) => self.put(scope, stored, json),
            None => self.forget(id),
        }
    }

    fn put(&self, scope: &Scope, stored: Stored, json: usize) {
        if self.is_on {
            // A task in memory is somewhat larger than its JSON.
            let weight = (json + json / 2 + OVERHEAD) as u64;
            if json >= LARGE {
                self.large.put(scope, &stored);
            } else {
                self.large.remove(&stored.task.id);
            }
            self.tasks.insert(stored.task.id.clone(), Entry { scope: scope.clone(), stored, weight });
        }
    }

    fn write_state(&self, id: &TaskId) -> &Mutex<WriteState> {
        &self.write_states[self.place(id)]
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash are suitable")]
    fn place(&self, id: &TaskId) -> usize {
        self.hasher.hash_one(id) as usize % WRITE_STATES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(sequence: u64) -> Stored {
        Stored { task: Arc::new(Task { id: "t".into(), ..Task::default() }), sequence, epoch: 1 }
    }

    fn sequence(cache: &Cache) -> Option<u64> {
        cache.find(&Scope::open(), &"t".into()).map(|stored| stored.sequence)
    }

    #[test]
    fn a_read_that_began_before_or_during_a_write_is_not_cached() {
        let (cache, scope, id) = (Cache::new(1 << 20), Scope::open(), TaskId::from("t"));
        let before = cache.ticket(&id);
        cache.begin_write(&id);
        let during = cache.ticket(&id);
        cache.fill(&before, &scope, &stored(1), 100);
        cache.fill(&during, &scope, &stored(1), 100);
        assert_eq!(sequence(&cache), None);
        cache.end_write(&scope, &id, None);
        cache.fill(&before, &scope, &stored(1), 100);
        cache.fill(&during, &scope, &stored(1), 100);
        assert_eq!(sequence(&cache), None);
        let after = cache.ticket(&id);
        cache.fill(&after, &scope, &stored(2), 100);
        assert_eq!(sequence(&cache), Some(2));
        cache.begin_write(&id);
        assert_eq!(sequence(&cache), None);
        cache.end_write(&scope, &id, Some((stored(3), 100)));
        assert_eq!(sequence(&cache), Some(3));
    }

    #[test]
    fn the_last_write_in_a_transaction_decides_the_cached_task() {
        let (cache, scope, id) = (Cache::new(1 << 20), Scope::open(), TaskId::from("t"));
        for (writes, left) in [([Some(1), None], None), ([None, Some(2)], Some(2)), ([Some(3), Some(4)], Some(4))] {
            for _ in writes {
                cache.begin_write(&id);
            }
            for sequence in writes {
                cache.end_write(&scope, &id, sequence.map(|sequence| (stored(sequence), 100)));
            }
            assert_eq!(sequence(&cache), left);
        }
    }

    #[test]
    fn a_task_that_outgrows_the_cache_removes_its_earlier_version() {
        let (cache, scope) = (Cache::new(1 << 20), Scope::open());
        for (sequence, json) in [(1, 100), (2, 1 << 24)] {
            let ticket = cache.ticket(&"t".into());
            cache.fill(&ticket, &scope, &stored(sequence), json);
        }
        assert_eq!(sequence(&cache), None);
    }

    #[test]
    fn a_task_too_large_for_the_cache_is_found_while_a_caller_holds_it() {
        let (cache, scope, id) = (Cache::new(1 << 20), Scope::open(), TaskId::from("t"));
        let large = stored(1);
        cache.fill(&cache.ticket(&id), &scope, &large, 1 << 24);
        assert!(Arc::ptr_eq(&cache.find(&scope, &id).unwrap().task, &large.task));
        let read = || Ok::<_, ()>(Some(stored(2)));
        assert_eq!(cache.find_or_read(&scope, &id, read).unwrap().unwrap().sequence, 1);
        cache.begin_write(&id);
        assert_eq!(sequence(&cache), None);
        let larger = stored(2);
        cache.end_write(&scope, &id, Some((larger.clone(), 1 << 24)));
        assert_eq!(sequence(&cache), Some(2));
        drop(larger);
        assert_eq!(sequence(&cache), None);
        assert_eq!(cache.find_or_read(&scope, &id, read).unwrap().unwrap().sequence, 2);
    }

    #[test]
    fn the_cache_stays_within_its_capacity() {
        let (cache, scope) = (Cache::new(1 << 20), Scope::open());
        for number in 0..10_000 {
            let id = TaskId::from(format!("{number}"));
            let task = Arc::new(Task { id: id.clone(), ..Task::default() });
            cache.begin_write(&id);
            cache.end_write(&scope, &id, Some((Stored { task, sequence: 1, epoch: 1 }, 1_000)));
        }
        assert!(cache.tasks.weight() <= 1 << 20 && cache.tasks.len() > 100, "{}", cache.tasks.len());
    }
}
