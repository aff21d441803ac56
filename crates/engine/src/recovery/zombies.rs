//! The net beneath everything else: now and then this node looks through the tasks that the store says it is at work
//! on, for those that nobody here is at work on. Whatever led to that, and nobody told: none stays at work for ever.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use nuncio_model::{Scope, TaskId};

use crate::{
    shared::Shared,
    store::{AtWork, Cluster, StoreError},
};

/// How many tasks are looked up at a time.
const PAGE: usize = 1_000;

/// How many are remembered until the next look; others wait for a later one.
const REMEMBERED: usize = 10_000;

/// The time between two looks where nobody shares the store; else it is a lease.
const PERIOD: Duration = Duration::from_secs(10);

/// Counts zombies.
#[derive(Default)]
pub(crate) struct Zombies {
    watched: AtomicBool,
    found: AtomicU64,
}

impl Zombies {
    /// How many were found.
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }
}

/// Tasks without a runner, each with the epoch and the number of its last record.
type Look = HashMap<(Scope, TaskId), (u64, u64)>;

/// Begins to look for zombies; it ends with the engine.
pub(crate) fn watch(shared: &Arc<Shared>) {
    if !shared.zombies.watched.swap(true, Ordering::Relaxed) {
        Shared::spawn(look_around(Arc::downgrade(shared)));
    }
}

async fn look_around(shared: Weak<Shared>) {
    let Some((left, period)) = shared.upgrade().map(|shared| {
        let period = shared.store.cluster().map_or(PERIOD, Cluster::lease);
        (shared.members.left().clone(), period)
    }) else {
        return;
    };
    let mut last = Look::new();
    while let Some(shared) = Shared::after(&shared, &left, period).await {
        if shared.turns.are_draining() {
            continue;
        }
        match look(&shared, &last).await {
            Ok(seen) => last = seen,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "recovery: cannot search for zombie tasks; retrying later");
            }
        }
    }
}

/// Looks once. Whatever had no runner at the last look either, and has not gone on since, is a zombie: a runner that
/// came or went just now is none.
async fn look(shared: &Arc<Shared>, last: &Look) -> Result<Look, StoreError> {
    let (mut seen, mut after) = (Look::new(), None);
    loop {
        let page = shared.store.at_work(after.as_deref(), PAGE).await?;
        for AtWork { scope, id, epoch, sequence } in page.tasks {
            let has_runner = shared.registry.find(&scope, &id).is_some_and(|task_ref| task_ref.lock().running);
            if has_runner || shared.recovery_queue.has(&scope, &id) {
                continue;
            }
            let (key, place) = ((scope, id), (epoch, sequence));
            if last.get(&key) == Some(&place) {
                let (scope, id) = &key;
                tracing::warn!(task = %id, "recovery: found a zombie task, which is running in the store without a runner; settling the task");
                shared.zombies.found.fetch_add(1, Ordering::Relaxed);
                shared.settle_later(scope, id);
            } else if seen.len() < REMEMBERED {
                seen.insert(key, place);
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(seen);
        }
    }
}
