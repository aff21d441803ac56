//! The answer of the node that owns a task to the sender of a command.

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind};
use tokio::sync::oneshot;

use super::{command::Refusal, seen::CommandGuard};
use crate::{
    registry::TaskRef,
    shared::Shared,
    store::{CommandId, Report, StoreError},
};

/// Returns the channel on which a runner reports the outcome of a command. A refusal is stored for the sender. If the
/// reason concerns only this node, the command stays pending for another node.
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
                    // The command is read again, and refused again if the reason remains.
                    Err(error) => {
                        tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "cluster: cannot store the refusal of a command; retrying");
                    }
                }
            }
            Ok(Some(_)) | Err(_) => drop(guard),
        }
    });
    sender
}

/// Stores the progress of a command, and signals its sender.
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
