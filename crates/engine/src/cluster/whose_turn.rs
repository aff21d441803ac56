//! Whose turn it is that a task elsewhere has: it decides where a stream ends, and what a blocking call is answered.

use std::collections::VecDeque;

use crate::{feed::FILL, live::Live, record::Record, shared::Shared, store::StoreError};

/// Looks whose turn these records begin, if that is one of a message that went by letter: to be done before they are
/// shown, since it depends on it where a stream ends.
pub(crate) async fn look_whose_turn(shared: &Shared, live: &Live, records: &[Record]) -> Result<(), StoreError> {
    let correspondences = live.lock().correspondences.clone();
    let begins = records.iter().any(|record| matches!(record, Record::Begun(_)));
    for correspondence in &correspondences {
        correspondence.look(shared, live, begins).await?;
    }
    Ok(())
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
