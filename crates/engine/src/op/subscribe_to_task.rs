//! `SubscribeToTask` (section 3.1.6 "Subscribe to Task"). A client that names its last event gets all later events,
//! also of a task that has ended, as long as the store has them. Other clients get a snapshot first.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, Reply, Scope, Task, op::SubscribeToTaskRequest, resume};

use crate::{
    bugs,
    feed::{FILL, Feed, Until},
    live::LiveTask,
    reader::LogReader,
    record::Record,
    shared::Shared,
    store::StoreError,
    turns::stopping,
};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: Scope,
    call: SubscribeToTaskRequest,
    last_event: Option<u64>,
) -> Result<Reply, Error> {
    let task_ref = shared.attach(&scope, &call.id).await?;
    shared.keep_abreast(&task_ref).await?;
    let live = Arc::clone(task_ref.live());
    let (mut reader, task, sequence) = LogReader::from_now(task_ref);
    if bugs::takes_snapshot_before_position() {
        bugs::pause().await;
        let now = live.lock().sequence;
        reader.advance(now);
    }
    // At a stop, the engine ends all readers. A later reader would never end.
    if shared.turns.are_draining() {
        return Err(stopping());
    }
    let first = match last_event {
        Some(last) if last < sequence => {
            let missed = missed(shared, &live, last).await?;
            reader.advance(missed.last().map_or(sequence, Record::sequence));
            missed.iter().filter_map(Record::as_update).cloned().collect()
        }
        Some(last) if last > sequence => {
            end_is_beyond(shared, &live, last, sequence).await?;
            reader.advance(last);
            Vec::new()
        }
        _ if task.state().is_terminal() => return Err(ended(&task)),
        Some(_) => Vec::new(),
        None => vec![live.snapshot.event(task, sequence)],
    };
    let feed = Feed::new(reader, shared, Until::Ended, first);
    Ok(Reply::Events(Box::pin(feed)))
}

/// The records after `last`. There are some, and more can follow.
async fn missed(shared: &Shared, live: &LiveTask, last: u64) -> Result<Vec<Record>, Error> {
    let portion = shared.reader_budget.portion(FILL);
    if let Some(records) = live.lock().records_after(last, portion) {
        return Ok(records.map(|(record, _)| record.clone()).collect());
    }
    match shared.store.events_after(&live.scope, &live.id, last, portion).await {
        Ok(records) => Ok(records),
        Err(StoreError::Compacted) => Err(resume::expired(&live.id, last)),
        Err(error) => Err(error.into()),
    }
}

/// Fails if the log ends before `last`: the store may have records that this node does not know yet.
async fn end_is_beyond(shared: &Shared, live: &LiveTask, last: u64, known: u64) -> Result<(), Error> {
    let stored = shared.store.load(&live.scope, &live.id).await?;
    let end = stored.map_or(known, |stored| stored.sequence);
    if last > end { Err(resume::ahead(&live.id, last, end)) } else { Ok(()) }
}

/// The error for a subscription to an ended task (section 3.1.6 "Subscribe to Task").
fn ended(task: &Task) -> Error {
    let message = format!("task {} is {}; read it with GetTask", task.id, task.state().short());
    Error::new(ErrorKind::UnsupportedOperation, message).with_metadata("taskId", task.id.as_str())
}
