//! The search for zombies, which catches every other fault: periodically, this node compares the tasks that it owns by the
//! store with the tasks that it runs. A task without a runner is settled, whatever the cause.

use std::{
    collections::{HashMap, HashSet},
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

/// The number of tasks in one query.
const PAGE: usize = 1_000;

/// The maximum of tasks that are remembered until the next search; others wait for a later search.
const REMEMBERED: usize = 10_000;

/// The time between two searches on a store of a single node; a cluster searches once per lease.
const PERIOD: Duration = Duration::from_secs(10);

/// The number of zombies.
#[derive(Default)]
pub(crate) struct Zombies {
    watched: AtomicBool,
    found: AtomicU64,
}

impl Zombies {
    /// The number of zombies found so far.
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }
}

/// Tasks without a runner, with the epoch and the number of the last record.
type Candidates = HashMap<(Scope, TaskId), (u64, u64)>;

/// Starts the search for zombies, which ends with the engine.
pub(crate) fn watch(shared: &Arc<Shared>) {
    if !shared.zombies.watched.swap(true, Ordering::Relaxed) {
        Shared::spawn(search_periodically(Arc::downgrade(shared)));
    }
}

async fn search_periodically(shared: Weak<Shared>) {
    let Some((left, period)) = shared.upgrade().map(|shared| {
        let period = shared.store.cluster().map_or(PERIOD, Cluster::lease);
        (shared.members.left().clone(), period)
    }) else {
        return;
    };
    let mut last = Candidates::new();
    while let Some(shared) = Shared::after(&shared, &left, period).await {
        if shared.turns.are_draining() {
            continue;
        }
        match search(&shared, &last).await {
            Ok(seen) => last = seen,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "recovery: cannot search for zombie tasks; retrying later");
            }
        }
    }
}

/// Searches once. A task without a runner in two successive searches, and without new records between, is a zombie. The
/// second search excludes tasks with a runner that is just starting or ending.
async fn search(shared: &Arc<Shared>, last: &Candidates) -> Result<Candidates, StoreError> {
    let (mut seen, mut after) = (Candidates::new(), None);
    let mut queued = HashSet::new();
    loop {
        let page = shared.store.at_work(after.as_deref(), PAGE).await?;
        for AtWork { scope, id, epoch, sequence } in page.tasks {
            if shared.recovery_queue.has(&scope, &id) {
                queued.insert((scope, id));
                continue;
            }
            if shared.registry.find(&scope, &id).is_some_and(|task_ref| task_ref.lock().running) {
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
            // The store has no other task at work on this node: the other tasks were erased, or another node has them.
            let is_queued = |scope: &Scope, id: &TaskId| queued.contains(&(scope.clone(), id.clone()));
            shared.recovery_queue.retain_too_large(is_queued);
            return Ok(seen);
        }
    }
}
