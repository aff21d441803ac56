//! Recent tasks in memory, so that reading one costs no query.
//!
//! What is in it is always the task as of its last commit: the writer takes it out before it commits and puts the new
//! one in after, and a reader puts in what it read only if nothing was being written since it began to read. So nobody
//! who has seen a task sees an earlier one of it later.

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

const STAMPS: usize = 256;

/// A task of so many bytes as JSON may be too large to be kept, and is not read twice while somebody has it.
const LARGE: usize = 256 * 1024;

/// How much a task weighs in all that is not the task: the key, the scope, the places in tables.
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
    /// Held while a task of some hash is put in or taken out.
    stamps: Box<[Mutex<Stamp>]>,
    hasher: DefaultHashBuilder,
    is_on: bool,
    large: Large,
    /// Held while a task of some hash is read, so that a large one is read once for all who ask at the same time.
    reads: Box<[Mutex<()>]>,
}

/// Tasks that are too large to be kept, while somebody else has them.
#[derive(Default)]
struct Large {
    tasks: Mutex<HashMap<TaskId, Lent>>,
    /// How many there are: nearly always none.
    count: AtomicUsize,
}

struct Lent {
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
        let lent = tasks.get(id).filter(|lent| lent.scope == *scope)?;
        Some(Stored { task: lent.task.upgrade()?, sequence: lent.sequence, epoch: lent.epoch })
    }

    fn put(&self, scope: &Scope, Stored { task, sequence, epoch }: &Stored) {
        let lent = Lent { scope: scope.clone(), task: Arc::downgrade(task), sequence: *sequence, epoch: *epoch };
        let mut tasks = self.tasks.lock();
        tasks.retain(|_, lent| lent.task.strong_count() > 0);
        tasks.insert(task.id.clone(), lent);
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

/// What is being written of the tasks of some hash.
#[derive(Default)]
struct Stamp {
    /// How often a write began or ended.
    changes: u64,
    /// How many are under way.
    writes: usize,
}

/// When a reader began to read.
pub(super) struct Ticket(u64);

impl Cache {
    /// Takes up to so many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let tasks = usize::try_from(bytes / 2048).unwrap_or(usize::MAX).max(1);
        Self {
            tasks: sync::Cache::with_weighter(tasks, bytes.max(1), ByBytes),
            stamps: (0..STAMPS).map(|_| Mutex::default()).collect(),
            hasher: DefaultHashBuilder::default(),
            is_on: bytes > 0,
            large: Large::default(),
            reads: (0..STAMPS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The task, when it is here and of this scope.
    pub(super) fn find(&self, scope: &Scope, id: &TaskId) -> Option<Stored> {
        let kept = self.tasks.get(id).filter(|entry| entry.scope == *scope).map(|entry| entry.stored);
        kept.or_else(|| self.large.find(scope, id))
    }

    /// What is here, or what `read` gives: one who asks waits while another reads the task.
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

    /// To be taken before a read of the database begins.
    pub(super) fn ticket(&self, id: &TaskId) -> Ticket {
        Ticket(self.stamp(id).lock().changes)
    }

    /// Puts in what a reader has read; `json` is its length as JSON.
    pub(super) fn fill(&self, ticket: &Ticket, scope: &Scope, stored: &Stored, json: usize) {
        let stamp = self.stamp(&stored.task.id).lock();
        if stamp.changes == ticket.0 && stamp.writes == 0 {
            self.put(scope, stored.clone(), json);
        }
    }

    /// To be called before a write is committed.
    pub(super) fn begin_write(&self, id: &TaskId) {
        let mut stamp = self.stamp(id).lock();
        stamp.changes += 1;
        stamp.writes += 1;
        self.forget(id);
    }

    fn forget(&self, id: &TaskId) {
        self.tasks.remove(id);
        self.large.remove(id);
    }

    /// To be called after it, however it went, with the task as it is now where that is known. Of several writes of a
    /// task in one transaction the last one tells.
    pub(super) fn end_write(&self, scope: &Scope, id: &TaskId, stored: Option<(Stored, usize)>) {
        let mut stamp = self.stamp(id).lock();
        stamp.changes += 1;
        stamp.writes -= 1;
        match stored {
            Some((stored, json)) => self.put(scope, stored, json),
            None => self.forget(id),
        }
    }

    fn put(&self, scope: &Scope, stored: Stored, json: usize) {
        if self.is_on {
            // In memory a task takes somewhat more than as JSON.
            let weight = (json + json / 2 + OVERHEAD) as u64;
            if json >= LARGE {
                self.large.put(scope, &stored);
            } else {
                self.large.remove(&stored.task.id);
            }
            self.tasks.insert(stored.task.id.clone(), Entry { scope: scope.clone(), stored, weight });
        }
    }

    fn stamp(&self, id: &TaskId) -> &Mutex<Stamp> {
        &self.stamps[self.place(id)]
    }

    #[expect(clippy::cast_possible_truncation, reason = "any of its bits will do")]
    fn place(&self, id: &TaskId) -> usize {
        self.hasher.hash_one(id) as usize % STAMPS
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
    fn what_was_read_before_or_during_a_write_does_not_hide_it() {
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
    fn of_several_writes_in_one_transaction_the_last_one_tells() {
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
    fn a_task_that_is_too_big_to_keep_takes_its_earlier_self_along() {
        let (cache, scope) = (Cache::new(1 << 20), Scope::open());
        for (sequence, json) in [(1, 100), (2, 1 << 24)] {
            let ticket = cache.ticket(&"t".into());
            cache.fill(&ticket, &scope, &stored(sequence), json);
        }
        assert_eq!(sequence(&cache), None);
    }

    #[test]
    fn a_task_that_is_too_large_is_found_as_long_as_somebody_has_it() {
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
    fn keeps_no_more_than_it_may() {
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
