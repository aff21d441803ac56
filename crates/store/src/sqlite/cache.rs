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

    /// The task, when it is here: `Some(None)` when it is here and of another scope.
    pub(super) fn find(&self, scope: &Scope, id: &TaskId) -> Option<Option<Stored>> {
        let entry = self.tasks.get(id)?;
        Some((entry.scope == *scope).then_some(entry.stored))
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
