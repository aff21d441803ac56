//! `SubscribeToTask` (section 3.1.6). A client that names the last event it saw gets what it missed, where that is still
//! kept, also of a task that has ended meanwhile; any other gets a snapshot first.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, Reply, Scope, StreamEvent, StreamResponse, op::SubscribeToTaskRequest};

use crate::{
    engine::Shared,
    feed::{Feed, Until},
    reader::LogReader,
    registry::Hold,
    store::StoreError,
};

pub(super) async fn call(
    shared: &Arc<Shared>,
    scope: &Scope,
    call: SubscribeToTaskRequest,
    last_event: Option<u64>,
) -> Result<Reply, Error> {
    let hold = shared.attach(scope, &call.id).await?;
    let (mut reader, task, sequence) = LogReader::from_now(hold.clone());
    let missed = match last_event {
        Some(last) if last < sequence => kept(shared, &hold, last).await?,
        _ => Missed::None,
    };
    let first = match (missed, last_event) {
        (Missed::Kept, Some(last)) => {
            reader.advance(last);
            None
        }
        (Missed::None, _) if task.state().is_terminal() => {
            return Err(Error::new(
                ErrorKind::UnsupportedOperation,
                format!("task {} is {}; read it with GetTask", call.id, task.state().short()),
            )
            .with_metadata("taskId", call.id.as_str()));
        }
        _ => Some(Arc::new(StreamEvent::new(Some(sequence), StreamResponse::Task(Arc::unwrap_or_clone(task))))),
    };
    let feed = Feed::new(reader, Arc::clone(&shared.store), Until::Ended, first);
    Ok(Reply::Events(Box::pin(feed)))
}

/// What a client has missed.
enum Missed {
    /// Nothing, or it does not say.
    None,
    /// Events that are kept.
    Kept,
    /// Events that are not.
    Gone,
}

async fn kept(shared: &Shared, hold: &Hold, last: u64) -> Result<Missed, Error> {
    if hold.lock().records_after(last, 1).is_some() {
        return Ok(Missed::Kept);
    }
    match shared.store.events_after(&hold.scope, &hold.id, last, 1).await {
        Ok(_) => Ok(Missed::Kept),
        Err(StoreError::Compacted) => Ok(Missed::Gone),
        Err(error) => Err(error.into()),
    }
}
