//! Looks at many commands at once: those of a task that has moved on, and now and then all that this node follows.

use std::sync::Arc;

use nuncio_model::TaskState;

use super::RemoteCall;
use crate::{
    live::LiveTask,
    shared::Shared,
    store::{Cluster, CommandId, CommandStatus, StoreError},
};

/// How many commands are asked for at a time.
const PAGE: usize = 1000;

/// How far these commands have come.
pub(super) async fn look_up(
    cluster: &dyn Cluster,
    remote_calls: &[Arc<RemoteCall>],
) -> Result<Vec<Option<CommandStatus>>, StoreError> {
    let ids: Vec<CommandId> = remote_calls.iter().map(|it| it.command.clone()).collect();
    cluster.statuses(&ids).await
}

/// Looks how far the commands to a task have come, after it has moved on or may have.
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

/// Looks how far all commands have come that this node follows.
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
                tracing::warn!(error = &error as &dyn std::error::Error, "commands are not followed");
                return;
            }
        }
    }
}
