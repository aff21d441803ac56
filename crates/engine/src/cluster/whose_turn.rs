//! Whose turn it is that a task elsewhere has: it decides where a stream ends, and what a blocking call is answered.

use std::collections::VecDeque;

use nuncio_model::StreamResponse;

use super::letters::look_up;
use crate::{feed::FILL, live::Live, record::Record, shared::Shared, store::StoreError};

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
    for (correspondence, status) in correspondences.iter().zip(statuses) {
        if let Some(status) = status {
            correspondence.look(shared, live, &status, true).await?;
        }
    }
    Ok(())
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
    }
}

/// Where the turn of the message began that is in the log at this place, if it did. Of a log that is not kept nobody knows,
/// and the message had its place there.
pub(super) async fn turn_in_log(shared: &Shared, live: &Live, taken: u64) -> Result<Option<u64>, StoreError> {
    let (mut waiting, mut after) = (VecDeque::new(), 0);
    loop {
        let records = match shared.store.events_after(&live.scope, &live.id, after, FILL).await {
            Err(StoreError::Compacted) => return Ok(Some(taken)),
            records => records?,
        };
        for record in &records {
            let begun = match record {
                Record::Received(received) if received.waits => {
                    waiting.push_back(received.sequence);
                    None
                }
                Record::Received(received) => Some(received.sequence),
                Record::Begun(_) => waiting.pop_front(),
                Record::Update(_) => None,
            };
            if begun == Some(taken) {
                return Ok(Some(record.sequence()));
            }
            after = record.sequence();
        }
        if records.len() < FILL {
            return Ok(None);
        }
    }
}
