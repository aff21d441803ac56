//! What the writer of a letter is told by whoever has its task.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind};
use tokio::sync::oneshot;

use super::{letter::Refusal, taken::Taking};
use crate::{
    registry::Hold,
    shared::Shared,
    store::{LetterId, Mark, StoreError},
};

/// Tells the writer of a letter when nothing comes of it: gives where a runner says so. A letter that was not taken for
/// reasons of this node waits for another.
pub(crate) fn answer<T: Send + 'static>(
    shared: &Arc<Shared>,
    hold: &Hold,
    taking: Taking,
    refusal: impl Fn(T) -> Option<Error> + Send + 'static,
) -> oneshot::Sender<T> {
    let (sender, told) = oneshot::channel();
    let (shared, hold) = (Arc::clone(shared), hold.clone());
    Shared::spawn(async move {
        match told.await.map(refusal) {
            Ok(None) => taking.done(),
            Ok(Some(error)) if error.kind() != ErrorKind::Unavailable => {
                let refused = Mark::Refused(Refusal::encode(&error));
                match mark(&shared, &hold, taking.letter(), refused).await {
                    Ok(()) => taking.done(),
                    // It comes again, and is refused again if there is still a reason.
                    Err(error) => {
                        tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a letter is not answered");
                    }
                }
            }
            Ok(Some(_)) | Err(_) => drop(taking),
        }
    });
    sender
}

/// Notes how far a letter has come, and tells its writer.
pub(crate) async fn mark(shared: &Shared, hold: &Hold, letter: &LetterId, mark: Mark) -> Result<(), StoreError> {
    let Some(cluster) = shared.store.cluster() else { return Ok(()) };
    let marked = cluster.mark(letter, mark).await;
    shared.members.changed(&hold.id, 0);
    marked
}
