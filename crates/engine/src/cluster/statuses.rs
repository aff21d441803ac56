//! Reads the status of many commands in one query: of a changed task, and periodically of all remote calls.

use std::sync::Arc;

use nuncio_model::TaskState;

use super::RemoteCall;
use crate::{
    live::LiveTask,
    shared::Shared,
    store::{Cluster, CommandId, CommandStatus, StoreError},
};

/// The number of commands in one query.
const PAGE: usize = 1000;

/// The status of the command of each remote call.
pub(super) async fn look_up(
    cluster: &dyn Cluster,
    remote_calls: &[Arc<RemoteCall>],
) -> Result<Vec<Option<CommandStatus>>, StoreError> {
    let ids: Vec<CommandId> = remote_calls.iter().map(|it| it.command.clone()).collect();
    cluster.statuses(&ids).await
}

/// Reads the status of the commands for a task that may have changed.
pub(super) async fn attend(shared: &Shared, live: &LiveTask) -> Result<(), StoreError> {
    let Some(cluster) = shared.store.cluster() else { return Ok(()) };
    let (mut remote_calls, state, is_reported) = {
        let mut state = live.lock();
        let is_reported = std::mem::take(&mut state.command_reported);
        (state.remote_calls.clone(), state.task_state(), is_reported)
    };
    remote_calls.retain(|it| is_reported || it.may_have_moved(state));
    if remote_calls.is_empty() {
        return Ok(());
    }
    let statuses = look_up(cluster, &remote_calls).await?;
    remote_calls.iter().zip(statuses).for_each(|(it, status)| it.found(status, state));
    Ok(())
}

/// Reads the status of all commands that this node follows.
pub(super) async fn poll(shared: &Shared, cluster: &dyn Cluster) {
    let mut followed: Vec<(Arc<RemoteCall>, TaskState)> = Vec::new();
    for live in shared.registry.all() {
        let state = live.lock();
        followed.extend(state.remote_calls.iter().map(|it| (Arc::clone(it), state.task_state())));
    }
    for page in followed.chunks(PAGE) {
        let remote_calls: Vec<_> = page.iter().map(|(it, _)| Arc::clone(it)).collect();
        match look_up(cluster, &remote_calls).await {
            Ok(statuses) => page.iter().zip(statuses).for_each(|((it, state), status)| it.found(status, *state)),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cluster: cannot poll forwarded commands; retrying"
                );
                return;
            }
        }
    }
}
