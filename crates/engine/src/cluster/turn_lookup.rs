//! Finds the turns of messages that were sent as commands. The end of a turn ends a stream, and is the answer of a blocking
//! call.

use nuncio_model::StreamResponse;

use super::{RemoteCall, statuses::look_up};
use crate::{
    live::LiveTask,
    record::Record,
    shared::Shared,
    store::{CommandStatus, StoreError},
    turn_index::TurnIndex,
};

/// Finds the turns of remote calls that begin with these records. Call this before readers see the records, because the
/// end of a stream depends on the turn.
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

/// Whether a turn can begin with this record, or can end with it after a beginning that this node has not seen.
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

/// Stores which turns of remote calls have begun: from the status of the commands, and from the log up to `log` if the
/// status does not tell. The read costs as much as the log.
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
            // A new owner may not know that the message came by a command.
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
        // The log is not kept, so the turn is unknown; the place of the message is before the turn.
        if let Some(begun) = turns.as_ref().map_or(Some(acked), |turns| turns.begun(acked)) {
            remote_call.begins(begun);
        }
    }
    Ok(())
}
