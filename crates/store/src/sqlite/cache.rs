//! Recent tasks in memory, so that reading one costs no query.
//!
//! What is in it is always the task as of its last commit: the writer replaces or removes it before a commit is
//! acknowledged, and a reader puts in what it read only if nothing was written since it began to read.

use std::hash::{BuildHasher as _, RandomState};

use nuncio_engine::store::Stored;
use nuncio_model::{Scope, TaskId};
use parking_lot::Mutex;
use quick_cache::{Weighter, sync};

const STAMPS: usize = 256;

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
    /// How often tasks of some hash were written. Held while a task of that hash is put in or taken out.
    stamps: Box<[Mutex<u64>]>,
    hasher: RandomState,
    is_on: bool,
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
            hasher: RandomState::new(),
            is_on: bytes > 0,
        }
    }

    /// The task, when it is here and of this scope.
    pub(super) fn find(&self, scope: &Scope, id: &TaskId) -> Option<Stored> {
        self.tasks.get(id).filter(|entry| entry.scope == *scope).map(|entry| entry.stored)
    }

    /// To be taken before a read of the database begins.
    pub(super) fn ticket(&self, id: &TaskId) -> Ticket {
        Ticket(*self.stamp(id).lock())
    }

    /// Puts in what a reader has read; `json` is its length as JSON.
    pub(super) fn fill(&self, ticket: &Ticket, scope: &Scope, stored: &Stored, json: usize) {
        let stamp = self.stamp(&stored.task.id).lock();
        if *stamp == ticket.0 {
            self.put(scope, stored.clone(), json);
        }
    }

    /// Takes note of a write that is in the database now: of the task as it is after it, where that is known.
    pub(super) fn written(&self, scope: &Scope, id: &TaskId, stored: Option<(Stored, usize)>) {
        let mut stamp = self.stamp(id).lock();
        *stamp += 1;
        match stored {
            Some((stored, json)) => self.put(scope, stored, json),
            None => drop(self.tasks.remove(id)),
        }
    }

    fn put(&self, scope: &Scope, stored: Stored, json: usize) {
        if self.is_on {
            // In memory a task takes somewhat more than as JSON.
            let weight = (json + json / 2 + OVERHEAD) as u64;
            self.tasks.insert(stored.task.id.clone(), Entry { scope: scope.clone(), stored, weight });
        }
    }

    fn stamp(&self, id: &TaskId) -> &Mutex<u64> {
        #[expect(clippy::cast_possible_truncation, reason = "any of its bits will do")]
        &self.stamps[self.hasher.hash_one(id) as usize % STAMPS]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nuncio_model::Task;

    use super::*;

    fn stored(sequence: u64) -> Stored {
        Stored { task: Arc::new(Task { id: "t".into(), ..Task::default() }), sequence, epoch: 1 }
    }

    fn sequence(cache: &Cache) -> Option<u64> {
        cache.find(&Scope::open(), &"t".into()).map(|stored| stored.sequence)
    }

    #[test]
    fn what_was_read_before_a_write_does_not_hide_it() {
        let (cache, scope) = (Cache::new(1 << 20), Scope::open());
        let ticket = cache.ticket(&"t".into());
        cache.written(&scope, &"t".into(), None);
        cache.fill(&ticket, &scope, &stored(1), 100);
        assert_eq!(sequence(&cache), None);
        let ticket = cache.ticket(&"t".into());
        cache.fill(&ticket, &scope, &stored(2), 100);
        assert_eq!(sequence(&cache), Some(2));
        cache.written(&scope, &"t".into(), Some((stored(3), 100)));
        assert_eq!(sequence(&cache), Some(3));
    }

    #[test]
    fn a_task_that_is_too_big_to_keep_takes_its_earlier_self_along() {
        let (cache, scope) = (Cache::new(1 << 20), Scope::open());
        cache.written(&scope, &"t".into(), Some((stored(1), 100)));
        cache.written(&scope, &"t".into(), Some((stored(2), 1 << 24)));
        assert_eq!(sequence(&cache), None);
    }

    #[test]
    fn keeps_no_more_than_it_may() {
        let (cache, scope) = (Cache::new(1 << 20), Scope::open());
        for number in 0..10_000 {
            let id = TaskId::from(format!("{number}"));
            let task = Arc::new(Task { id: id.clone(), ..Task::default() });
            cache.written(&scope, &id, Some((Stored { task, sequence: 1, epoch: 1 }, 1_000)));
        }
        assert!(cache.tasks.weight() <= 1 << 20 && cache.tasks.len() > 100, "{}", cache.tasks.len());
    }
}
