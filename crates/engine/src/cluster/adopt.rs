//! Takes over the tasks of failed nodes. The first node to claim a task gets the task.

use std::sync::Weak;

use crate::{recovery, shared::Shared};

/// Settles tasks of failed nodes, about once a second.
pub(super) async fn adopt(shared: Weak<Shared>) {
    let Some((left, period)) = shared.upgrade().map(|it| (it.members.left().clone(), it.limits.poll_interval)) else {
        return;
    };
    while let Some(shared) = Shared::after(&shared, &left, period).await {
        if shared.turns.are_draining() {
            continue;
        }
        match recovery::adopt(&shared).await {
            Ok(adopted) if adopted.settled == 0 => {}
            Ok(adopted) => tracing::info!(tasks = adopted.settled, "recovery: settled tasks of failed nodes"),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "recovery: cannot settle tasks of failed nodes; retrying"
            ),
        }
    }
}
