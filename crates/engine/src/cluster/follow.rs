//! Follows tasks that run on other nodes: reads their records from the store for the readers on this node.

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

/// Reads the new records of a task of another node. Returns whether the task exists. If there is no new record, the store
/// is asked, because the log does not tell that the task was deleted.
pub(crate) async fn catch_up(shared: &Shared, task_ref: &TaskRef) -> Result<bool, StoreError> {
    let live = task_ref.live();
    let _alone = live.catching_up.lock().await;
    let mut is_new = false;
    loop {
        let (after, has_ended) = {
            let state = live.lock();
            // A task without a record is being created on this node.
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

/// Whether the task waits for its client after this record.
fn rests(record: &Record) -> bool {
    match record.as_update().map(|event| &event.response) {
        Some(StreamResponse::StatusUpdate(update)) => update.status.state.is_interrupted(),
        _ => false,
    }
}

/// If the task waits for its client, gives the current task to the remote calls with a running turn: later records can
/// arrive before the callers look.
pub(crate) fn note_rest(live: &LiveTask) {
    let state = live.lock();
    if state.task_state().is_interrupted() {
        for it in state.remote_calls.iter().filter(|it| it.progress.precedes(state.status_sequence)) {
            it.progress.rest(Arc::clone(&state.task));
        }
    }
}

/// Reads a task soon, after a signal with the number of its last record; 0 if there may be no new record.
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
            // Another call reads the task and will read it again.
            return;
        }
    }
    let shared = Arc::clone(shared);
    Shared::spawn(async move {
        loop {
            let known = task_ref.lock().hurries;
            if let Err(error) = catch_up(&shared, &task_ref).await {
                tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "cluster: cannot read a task of another node; retrying");
            }
            if let Err(error) = attend(&shared, &task_ref).await {
                tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "cluster: cannot read the status of commands; retrying");
            }
            let mut state = task_ref.lock();
            if state.hurries == known {
                state.hurries = 0;
                return;
            }
        }
    });
}

/// Follows a task that this node has released, if the task has readers here.
pub(crate) fn stay(shared: &Arc<Shared>, task_ref: &TaskRef) {
    if task_ref.lock().is_followed() {
        let (shared, task_ref) = (Arc::clone(shared), task_ref.clone());
        Shared::spawn(async move {
            shared.members.listen(&shared, Topic::of(&task_ref.id)).await;
            hurry(&shared, task_ref, 0);
        });
    }
}

/// Finds live tasks that were deleted, and followed tasks with new records after a lost signal. Reads the new records.
pub(super) async fn poll(shared: &Arc<Shared>, cluster: &dyn Cluster) {
    let is_followed = |live: &Arc<LiveTask>| live.lock().is_followed();
    let topics: HashSet<Topic> =
        shared.registry.all().iter().filter(|live| is_followed(live)).map(|live| Topic::of(&live.id)).collect();
    let node = Topic::Node(cluster.node());
    shared.members.listeners.tidy(|topic| topic == node || topics.contains(&topic));
    let there = match shared.find_deleted().await {
        Ok(there) => there,
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cluster: cannot poll tasks of other nodes; retrying"
            );
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
