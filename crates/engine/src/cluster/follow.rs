//! Following tasks that run elsewhere: what is committed there is read here, for those who read it here.

use std::{collections::HashSet, sync::Arc};

use nuncio_model::StreamResponse;

use super::{statuses::attend, whose_turn::look_whose_turn};
use crate::{
    bus::Topic,
    feed::FILL,
    live::Live,
    record::Record,
    registry::Hold,
    shared::Shared,
    store::{Cluster, StoreError},
};

/// Brings a task that is not this node's up to the store's state of it. Whether it is still there: where there is
/// nothing new the store is asked, as a log does not say that it was deleted.
pub(crate) async fn catch_up(shared: &Shared, hold: &Hold) -> Result<bool, StoreError> {
    let live = hold.live();
    let _alone = live.catching_up.lock().await;
    let mut is_new = false;
    loop {
        let (after, has_ended) = {
            let inner = live.lock();
            // One without a record is being created here.
            if inner.is_owned() || inner.sequence == 0 {
                return Ok(true);
            }
            (inner.sequence, inner.state().is_terminal())
        };
        if has_ended {
            return if is_new { Ok(true) } else { shared.is_there(live).await };
        }
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
        let window = shared.limits.backlog();
        let mut shown = after;
        for part in records.split_inclusive(rests) {
            if let Some(backlog) = live.follow(part, shown, &shared.reader_budget)
                && backlog.is_beyond(window)
            {
                live.lock().evict_readers(window.sixteenths(8));
            }
            shown = part.last().map_or(shown, Record::sequence);
            note_rest(live);
        }
        if !records.is_empty() {
            shared.evict_slow_readers();
        }
        is_new |= !records.is_empty();
        if !FILL.is_filled_by(&records) {
            return if is_new { Ok(true) } else { shared.is_there(live).await };
        }
    }
}

/// Whether the task waits for its client with this record.
fn rests(record: &Record) -> bool {
    match record.as_update().map(|event| &event.response) {
        Some(StreamResponse::StatusUpdate(update)) => update.status.state.is_interrupted(),
        _ => false,
    }
}

/// Where the task rests, gives it to those who wait here for a turn that has begun and went by command: what comes after
/// it may be there before they look.
pub(crate) fn note_rest(live: &Live) {
    let inner = live.lock();
    if inner.state().is_interrupted() {
        for it in inner.remote_calls.iter().filter(|it| it.progress.precedes(inner.status_sequence)) {
            it.progress.rest(Arc::clone(&inner.task));
        }
    }
}

/// Catches up with a task soon, after a signal that it has come so far; 0 where it may have come no further.
pub(super) fn hurry(shared: &Arc<Shared>, hold: Hold, sequence: u64) {
    {
        let mut inner = hold.lock();
        let is_news = sequence == 0 || inner.sequence < sequence;
        if !is_news || inner.is_owned() {
            return;
        }
        if inner.sequence == 0 {
            inner.has_missed = true;
            return;
        }
        inner.command_reported |= sequence == 0;
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
                tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "commands are not followed");
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

/// Looks which of the tasks that are live here were deleted, and which of those that are read here have gone on without
/// a signal, and catches up with them.
pub(super) async fn reread(shared: &Arc<Shared>, cluster: &dyn Cluster) {
    let is_followed = |live: &Arc<Live>| live.lock().is_followed();
    let topics: HashSet<Topic> =
        shared.registry.all().iter().filter(|live| is_followed(live)).map(|live| Topic::of(&live.id)).collect();
    let node = Topic::Node(cluster.node());
    shared.members.listeners.tidy(|topic| topic == node || topics.contains(&topic));
    let there = match shared.look_what_is_gone().await {
        Ok(there) => there,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "tasks elsewhere are not read");
            return;
        }
    };
    for (live, sequence) in there.iter().filter(|(live, _)| is_followed(live)) {
        let Some(hold) = shared.registry.find(&live.scope, &live.id) else { continue };
        if live.lock().sequence < *sequence {
            hurry(shared, hold, *sequence);
        }
    }
}
