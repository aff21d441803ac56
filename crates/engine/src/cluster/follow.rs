//! Following tasks that run elsewhere: what is committed there is read here, for those who read it here.

use std::{collections::HashSet, sync::Arc};

use nuncio_model::{Scope, TaskId};

use super::{letters::attend, whose_turn::look_whose_turn};
use crate::{
    bus::Topic,
    feed::FILL,
    live::Live,
    registry::Hold,
    shared::Shared,
    store::{Cluster, StoreError},
};

/// How many tasks are asked for at a time.
const PAGE: usize = 1000;

/// Brings a task that is not this node's up to the store's state of it.
pub(crate) async fn catch_up(shared: &Shared, live: &Live) -> Result<(), StoreError> {
    let _alone = live.catching_up.lock().await;
    loop {
        let after = {
            let inner = live.lock();
            if inner.is_owned() || inner.sequence > 0 && inner.state().is_terminal() {
                return Ok(());
            }
            inner.sequence
        };
        let records = match shared.store.events_after(&live.scope, &live.id, after, FILL).await {
            Err(StoreError::Compacted) => {
                if let Some(stored) = shared.store.load(&live.scope, &live.id).await? {
                    live.refill(stored, after);
                }
                Vec::new()
            }
            records => records?,
        };
        look_whose_turn(shared, live, &records).await?;
        if let Some(kept) = live.follow(&records, after)
            && kept > shared.limits.window
        {
            live.lock().leave_behind(shared.limits.window / 2);
        }
        if records.len() < FILL {
            return Ok(());
        }
    }
}

/// Catches up with a task soon, after a signal that it has come so far; 0 where it may have come no further.
pub(super) fn hurry(shared: &Arc<Shared>, hold: Hold, sequence: u64) {
    {
        let mut inner = hold.lock();
        let is_news = sequence == 0 || inner.sequence < sequence;
        if !is_news || inner.is_owned() || inner.sequence == 0 {
            return;
        }
        inner.letters_marked |= sequence == 0;
        inner.hurries += 1;
        if inner.hurries > 1 {
            // Somebody is at it, and will look again.
            return;
        }
    }
    let shared = Arc::clone(shared);
    Shared::spawn(async move {
        loop {
            let known = hold.lock().hurries;
            if let Err(error) = catch_up(&shared, &hold).await {
                tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a task elsewhere is not read");
            }
            if let Err(error) = attend(&shared, &hold).await {
                tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "letters are not followed");
            }
            let mut inner = hold.lock();
            if inner.hurries == known {
                inner.hurries = 0;
                return;
            }
        }
    });
}

/// Goes on reading a task, if anybody here does, that this node has let go of.
pub(crate) fn stay(shared: &Arc<Shared>, hold: &Hold) {
    if hold.lock().is_followed() {
        let (shared, hold) = (Arc::clone(shared), hold.clone());
        Shared::spawn(async move {
            shared.members.listen(&shared, Topic::of(&hold.id)).await;
            hurry(&shared, hold, 0);
        });
    }
}

/// Looks which of the tasks that are read here have gone on without a signal, and catches up with them.
pub(super) async fn reread(shared: &Arc<Shared>, cluster: &dyn Cluster) {
    let followed: Vec<Arc<Live>> = shared.registry.all().into_iter().filter(|live| live.lock().is_followed()).collect();
    let topics: HashSet<Topic> = followed.iter().map(|live| Topic::of(&live.id)).collect();
    let node = Topic::Node(cluster.node());
    shared.members.listeners.tidy(|topic| topic == node || topics.contains(&topic));
    for page in followed.chunks(PAGE) {
        let tasks: Vec<(Scope, TaskId)> = page.iter().map(|live| (live.scope.clone(), live.id.clone())).collect();
        let sequences = match cluster.sequences(&tasks).await {
            Ok(sequences) => sequences,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "tasks elsewhere are not read");
                return;
            }
        };
        for (live, sequence) in page.iter().zip(sequences) {
            let Some(hold) = shared.registry.find(&live.scope, &live.id) else { continue };
            if live.lock().sequence < sequence {
                hurry(shared, hold, sequence);
            }
        }
    }
}
