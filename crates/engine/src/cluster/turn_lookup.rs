//! Whose turn it is that a task elsewhere has: it decides where a stream ends, and what a blocking call is answered.

use nuncio_model::StreamResponse;

use super::{RemoteCall, statuses::look_up};
use crate::{
    live::LiveTask,
    record::Record,
    shared::Shared,
    store::{CommandStatus, StoreError},
    turn_index::TurnIndex,
};

/// Looks whose turn these records begin, if that is one of a message that went by command: to be done before they are
/// shown, since it depends on it where a stream ends.
pub(crate) async fn look_up_turns(shared: &Shared, live: &LiveTask, records: &[Record]) -> Result<(), StoreError> {
    if !records.iter().any(may_tell) {
        return Ok(());
    }
    let Some(cluster) = shared.store.cluster() else { return Ok(()) };
    let mut remote_calls = live.lock().remote_calls.clone();
    remote_calls.retain(|it| !it.progress.has_begun());
    if remote_calls.is_empty() {
        return Ok(());
    }
    let statuses = look_up(cluster, &remote_calls).await?;
    for (remote_call, status) in remote_calls.iter().zip(&statuses) {
        let has_turn = |acked: &u64| records.iter().any(|record| has_turn_at_once(record, *acked));
        if let Some(acked) = status.as_ref().and_then(|status| status.acked).filter(has_turn) {
            remote_call.begins(acked);
        }
    }
    let both = remote_calls.iter().zip(&statuses);
    let known: Vec<_> = both.filter_map(|(it, status)| Some((&**it, status.as_ref()?))).collect();
    let begins = records.iter().any(|record| matches!(record, Record::Begun(_)));
    let end = records.last().map_or(0, Record::sequence);
    note_turns(shared, live, &known, begins.then_some(end)).await
}

/// Whether a turn may begin with this record, or before it a turn that this node has not noticed, and rest with it.
fn may_tell(record: &Record) -> bool {
    match record {
        Record::Received(received) => !received.waits,
        Record::Begun(_) => true,
        Record::Update(event) => match &event.response {
            StreamResponse::StatusUpdate(update) => update.status.state.is_interrupted(),
            _ => false,
        },
        Record::Submitted(_) => false,
    }
}

fn has_turn_at_once(record: &Record, acked: u64) -> bool {
    matches!(record, Record::Received(received) if received.sequence == acked && !received.waits)
}

/// Notes which turns of messages have begun that went by command: by what is known of the commands, and by the log up to
/// a place where that may tell. To read it costs what the log does.
pub(super) async fn note_turns(
    shared: &Shared,
    live: &LiveTask,
    commands: &[(&RemoteCall, &CommandStatus)],
    log: Option<u64>,
) -> Result<(), StoreError> {
    let mut unknown = Vec::new();
    for (remote_call, status) in commands.iter().filter(|(it, _)| !it.progress.has_begun()) {
        match (status.begun, status.acked) {
            (Some(begun), _) => remote_call.begins(begun),
            // Whoever has the task now may not know that it came by command.
            (None, Some(acked)) if log.is_some() => unknown.push((acked, *remote_call)),
            (None, _) => {}
        }
    }
    let Some(end) = log.filter(|_| !unknown.is_empty()) else { return Ok(()) };
    let turns = match TurnIndex::read(&*shared.store, &live.scope, &live.id, end).await {
        Ok(turns) => Some(turns),
        Err(StoreError::Compacted) => None,
        Err(error) => return Err(error),
    };
    for (acked, remote_call) in unknown {
        // Of a log that is not kept nobody knows, and the message had its place there.
        if let Some(begun) = turns.as_ref().map_or(Some(acked), |turns| turns.begun(acked)) {
            remote_call.begins(begun);
        }
    }
    Ok(())
}
