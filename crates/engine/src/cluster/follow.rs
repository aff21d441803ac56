//! Following tasks that run elsewhere: what is committed there is read here, for those who read it here.

use std::{collections::HashSet, sync::Arc};

use nuncio_model::StreamResponse;

use super::{statuses::attend, turn_lookup::look_up_turns};
use crate::{
    bus::Topic,
    feed::FILL,
    live::LiveTask,
    record::Record,
    registry::TaskRef,
    shared::Shared,
    store::{Cluster, StoreError},
};

/// Brings a task that is not this node's up to the store's state of it. Whether it is still there: where there is
/// nothing new the store is asked, as a log does not say that it was deleted.
pub(crate) async fn catch_up(shared: &Shared, task_ref: &TaskRef) -> Result<bool, StoreError> {
    let live = task_ref.live();
    let _alone = live.catching_up.lock().await;
    let mut is_new = false;
    loop {
        let (after, has_ended) = {
            let state = live.lock();
            // One without a record is being created here.
            if state.is_owned() || state.sequence == 0 {
                return Ok(true);
            }
            (state.sequence, state.task_state().is_terminal())
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
        look_up_turns(shared, live, &records).await?;
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
pub(crate) fn note_rest(live: &LiveTask) {
    let state = live.lock();
    if state.task_state().is_interrupted() {
        for it in state.remote_calls.iter().filter(|it| it.progress.precedes(state.status_sequence)) {
            it.progress.rest(Arc::clone(&state.task));
        }
    }
}

/// Catches up with a task soon, after a signal that it has come so far; 0 where it may have come no further.
pub(super) fn hurry(shared: &Arc<Shared>, task_ref: TaskRef, sequence: u64) {
    {
        let mut state = task_ref.lock();
        let is_news = sequence == 0 || state.sequence < sequence;
        if !is_news || state.is_owned() {
            return;
        }
        if state.sequence == 0 {
            state.has_missed = true;
            return;
        }
        state.command_reported |= sequence == 0;
        state.hurries += 1;
        if state.hurries > 1 {
            // Somebody is at it, and will look again.
            return;
        }
    }
    let shared = Arc::clone(shared);
    Shared::spawn(async move {
        loop {
            let known = task_ref.lock().hurries;
            if let Err(error) = catch_up(&shared, &task_ref).await {
                tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "a task elsewhere is not read");
            }
            if let Err(error) = attend(&shared, &task_ref).await {
                tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "commands are not followed");
            }
            let mut state = task_ref.lock();
            if state.hurries == known {
                state.hurries = 0;
                return;
            }
        }
    });
}

/// Goes on reading a task, if anybody here does, that this node has let go of.
pub(crate) fn stay(shared: &Arc<Shared>, task_ref: &TaskRef) {
    if task_ref.lock().is_followed() {
        let (shared, task_ref) = (Arc::clone(shared), task_ref.clone());
        Shared::spawn(async move {
            shared.members.listen(&shared, Topic::of(&task_ref.id)).await;
            hurry(&shared, task_ref, 0);
        });
    }
}

/// Looks which of the tasks that are live here were deleted, and which of those that are read here have gone on without
/// a signal, and catches up with them.
pub(super) async fn poll(shared: &Arc<Shared>, cluster: &dyn Cluster) {
    let is_followed = |live: &Arc<LiveTask>| live.lock().is_followed();
    let topics: HashSet<Topic> =
        shared.registry.all().iter().filter(|live| is_followed(live)).map(|live| Topic::of(&live.id)).collect();
    let node = Topic::Node(cluster.node());
    shared.members.listeners.tidy(|topic| topic == node || topics.contains(&topic));
    let there = match shared.find_deleted().await {
        Ok(there) => there,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "tasks elsewhere are not read");
            return;
        }
    };
    for (live, sequence) in there.iter().filter(|(live, _)| is_followed(live)) {
        let Some(task_ref) = shared.registry.find(&live.scope, &live.id) else { continue };
        if live.lock().sequence < *sequence {
            hurry(shared, task_ref, *sequence);
        }
    }
}
