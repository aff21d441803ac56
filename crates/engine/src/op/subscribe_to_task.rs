//! `SubscribeToTask` (section 3.1.6). A client that names the last event it saw gets what it missed, where that is still
//! kept, also of a task that has ended meanwhile; any other gets a snapshot first.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, Reply, Scope, StreamEvent, StreamResponse, op::SubscribeToTaskRequest};

use crate::{
    feed::{FILL, Feed, Until},
    live::Live,
    reader::LogReader,
    record::Record,
    shared::Shared,
    store::StoreError,
    turns::stopping,
};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: &Scope,
    call: SubscribeToTaskRequest,
    last_event: Option<u64>,
) -> Result<Reply, Error> {
    let hold = shared.attach(scope, &call.id).await?;
    let live = Arc::clone(hold.live());
    let (mut reader, task, sequence) = LogReader::from_now(hold);
    // The engine lets go of every reader when it stops; of one that comes later nobody would know.
    if shared.turns.are_draining() {
        return Err(stopping());
    }
    let missed = match last_event {
        Some(last) if last < sequence => missed(shared, &live, last).await?,
        _ => Missed::Nothing,
    };
    let first = match missed {
        Missed::Records(records) => {
            reader.advance(records.last().map_or(sequence, Record::sequence));
            records.iter().filter_map(Record::as_update).cloned().collect()
        }
        Missed::Nothing if task.state().is_terminal() => {
            return Err(Error::new(
                ErrorKind::UnsupportedOperation,
                format!("task {} is {}; read it with GetTask", call.id, task.state().short()),
            )
            .with_metadata("taskId", call.id.as_str()));
        }
        Missed::Nothing | Missed::Gone => {
            vec![Arc::new(StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task))))]
        }
    };
    let feed = Feed::new(reader, Arc::clone(&shared.store), Until::Ended, first);
    Ok(Reply::Events(Box::pin(feed)))
}

/// What a client has missed.
enum Missed {
    /// Nothing, or it does not say.
    Nothing,
    /// These records, and maybe more after them.
    Records(Vec<Record>),
    /// Records that are no longer kept.
    Gone,
}

async fn missed(shared: &Shared, live: &Live, last: u64) -> Result<Missed, Error> {
    if let Some(records) = live.lock().records_after(last, FILL) {
        return Ok(Missed::Records(records.cloned().collect()));
    }
    match shared.store.events_after(&live.scope, &live.id, last, FILL).await {
        Ok(records) => Ok(Missed::Records(records)),
        Err(StoreError::Compacted) => Ok(Missed::Gone),
        Err(error) => Err(error.into()),
    }
}
