//! Tasks of nodes that are gone go on here, or on whichever node is first.

use std::sync::Weak;

use crate::{recovery, shared::Shared};

/// Settles tasks of nodes that are gone, about once a second.
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
            Ok(adopted) => tracing::info!(tasks = adopted.settled, "settled tasks of nodes that are gone"),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "tasks of nodes that are gone are not settled yet"
            ),
        }
    }
}
