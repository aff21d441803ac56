//! What the writer of a command is told by whoever has its task.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind};
use tokio::sync::oneshot;

use super::{command::Refusal, seen::CommandGuard};
use crate::{
    registry::TaskRef,
    shared::Shared,
    store::{CommandId, Report, StoreError},
};

/// Tells the writer of a command when nothing comes of it: gives where a runner says so. A command that was not taken for
/// reasons of this node waits for another.
pub(crate) fn answer<T: Send + 'static>(
    shared: &Arc<Shared>,
    task_ref: &TaskRef,
    guard: CommandGuard,
    refusal: impl Fn(T) -> Option<Error> + Send + 'static,
) -> oneshot::Sender<T> {
    let (sender, told) = oneshot::channel();
    let (shared, task_ref) = (Arc::clone(shared), task_ref.clone());
    Shared::spawn(async move {
        match told.await.map(refusal) {
            Ok(None) => guard.done(),
            Ok(Some(error)) if error.kind() != ErrorKind::Unavailable => {
                let refused = Report::Refused(Refusal::encode(&error));
                match report(&shared, &task_ref, guard.command(), refused).await {
                    Ok(()) => guard.done(),
                    // It comes again, and is refused again if there is still a reason.
                    Err(error) => {
                        tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "a command is not answered");
                    }
                }
            }
            Ok(Some(_)) | Err(_) => drop(guard),
        }
    });
    sender
}

/// Notes how far a command has come, and tells its writer.
pub(crate) async fn report(
    shared: &Shared,
    task_ref: &TaskRef,
    command: &CommandId,
    report: Report,
) -> Result<(), StoreError> {
    let Some(cluster) = shared.store.cluster() else { return Ok(()) };
    let reported = cluster.report(command, report).await;
    shared.members.changed(&task_ref.id, 0);
    reported
}
