//! What the writer of a letter is told by whoever has its task.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind};
use tokio::sync::oneshot;

use super::letter::Refusal;
use crate::{
    registry::Hold,
    shared::Shared,
    store::{LetterId, Mark},
};

/// Tells the writer of a letter when nothing comes of it: gives where a runner says so. A letter that was not taken for
/// reasons of this node waits for another.
pub(crate) fn answer<T: Send + 'static>(
    shared: &Arc<Shared>,
    hold: &Hold,
    letter: LetterId,
    refusal: impl Fn(T) -> Option<Error> + Send + 'static,
) -> oneshot::Sender<T> {
    let (sender, told) = oneshot::channel();
    let (shared, hold) = (Arc::clone(shared), hold.clone());
    Shared::spawn(async move {
        let outcome = told.await;
        let error = match outcome.map(refusal) {
            Ok(None) => return,
            Ok(Some(error)) if error.kind() != ErrorKind::Unavailable => error,
            Ok(Some(_)) | Err(_) => return shared.members.leave(&letter),
        };
        mark(&shared, &hold, &letter, Mark::Refused(Refusal::encode(&error))).await;
    });
    sender
}

/// Notes how far a letter has come, and tells its writer. What cannot be noted is found out by the state of the task.
pub(crate) async fn mark(shared: &Shared, hold: &Hold, letter: &LetterId, mark: Mark) {
    let Some(cluster) = shared.store.cluster() else { return };
    if let Err(error) = cluster.mark(letter, mark).await {
        tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a letter is not answered");
    }
    shared.members.changed(&hold.id, 0);
}
