//! Whose turn it is that a task elsewhere has: it decides where a stream ends, and what a blocking call is answered.

use std::collections::{BTreeMap, VecDeque};

use nuncio_model::StreamResponse;

use super::{Correspondence, letters::look_up};
use crate::{
    feed::FILL,
    live::Live,
    record::Record,
    shared::Shared,
    store::{LetterStatus, StoreError},
};

/// Looks whose turn these records begin, if that is one of a message that went by letter: to be done before they are
/// shown, since it depends on it where a stream ends.
pub(crate) async fn look_whose_turn(shared: &Shared, live: &Live, records: &[Record]) -> Result<(), StoreError> {
    if !records.iter().any(may_tell) {
        return Ok(());
    }
    let Some(cluster) = shared.store.cluster() else { return Ok(()) };
    let mut correspondences = live.lock().correspondences.clone();
    correspondences.retain(|it| !it.course.has_begun());
    if correspondences.is_empty() {
        return Ok(());
    }
    let statuses = look_up(cluster, &correspondences).await?;
    for (correspondence, status) in correspondences.iter().zip(&statuses) {
        let has_turn = |taken: &u64| records.iter().any(|record| has_turn_at_once(record, *taken));
        if let Some(taken) = status.as_ref().and_then(|status| status.taken).filter(has_turn) {
            correspondence.begins(taken);
        }
    }
    let both = correspondences.iter().zip(&statuses);
    let known: Vec<_> = both.filter_map(|(it, status)| Some((&**it, status.as_ref()?))).collect();
    let begins = records.iter().any(|record| matches!(record, Record::Begun(_)));
    note_turns(shared, live, &known, begins).await
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

fn has_turn_at_once(record: &Record, taken: u64) -> bool {
    matches!(record, Record::Received(received) if received.sequence == taken && !received.waits)
}

/// Notes which turns of messages have begun that went by letter: by what is known of the letters, and by the log where that
/// may tell. To read it costs what the log does.
pub(super) async fn note_turns(
    shared: &Shared,
    live: &Live,
    letters: &[(&Correspondence, &LetterStatus)],
    log_may_tell: bool,
) -> Result<(), StoreError> {
    let mut unknown = Vec::new();
    for (correspondence, status) in letters.iter().filter(|(it, _)| !it.course.has_begun()) {
        match (status.begun, status.taken) {
            (Some(begun), _) => correspondence.begins(begun),
            // Whoever has the task now may not know that it came by letter.
            (None, Some(taken)) if log_may_tell => unknown.push((taken, *correspondence)),
            (None, _) => {}
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    let Some(turns) = turns_in_log(shared, live).await? else {
        // Of a log that is not kept nobody knows, and the message had its place there.
        for (taken, correspondence) in unknown {
            correspondence.begins(taken);
        }
        return Ok(());
    };
    for (taken, correspondence) in unknown {
        if let Some(begun) = turns.get(&taken) {
            correspondence.begins(*begun);
        }
    }
    Ok(())
}

/// Where the turn of each message began that is in the log, by the place of the message, if it did; `None` where the log is
/// not kept.
async fn turns_in_log(shared: &Shared, live: &Live) -> Result<Option<BTreeMap<u64, u64>>, StoreError> {
    let (mut turns, mut waiting, mut after) = (BTreeMap::new(), VecDeque::new(), 0);
    loop {
        let records = match shared.store.events_after(&live.scope, &live.id, after, FILL).await {
            Err(StoreError::Compacted) => return Ok(None),
            records => records?,
        };
        for record in &records {
            match record {
                Record::Received(received) if received.waits => waiting.push_back(received.sequence),
                Record::Received(received) => drop(turns.insert(received.sequence, received.sequence)),
                Record::Begun(_) => {
                    turns.extend(waiting.pop_front().map(|message| (message, record.sequence())));
                }
                Record::Update(_) | Record::Submitted(_) => {}
            }
            after = record.sequence();
        }
        if records.len() < FILL {
            return Ok(Some(turns));
        }
    }
}
