//! The lease: this node says that it lives, and stops what it runs when it does not know any more whether it does.

use std::sync::Weak;

use tokio::{select, time::sleep};

use crate::{bus::Topic, inbox::Control, shared::Shared, store::Lease};

/// Renews the lease three times within its length. A node that has lost it stops what it runs: others run it.
pub(super) async fn keep(shared: Weak<Shared>) {
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let Some(cluster) = shared.store.cluster() else { return };
        let mut pause = cluster.lease() / 3;
        shared.members.listen(&shared, Topic::Node(cluster.node())).await;
        match cluster.renew().await {
            // What another node owed to webhooks when it went is nobody's to tell.
            Ok(Lease::Kept) => shared.push_wakeups.notify_one(),
            #[cfg(feature = "chaos-bugs")]
            Ok(Lease::Lost) if crate::bugs::Bug::NoFencing.is_on() => {}
            Ok(Lease::Lost) => {
                tracing::warn!(node = %cluster.node(), "this node was silent for too long; it goes on under another id");
                shared.registry.all().iter().for_each(|live| live.tell_runner(Control::Lost));
                shared.members.listen(&shared, Topic::Node(cluster.node())).await;
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the lease was not renewed");
                pause /= 4;
            }
        }
        let left = shared.members.left().clone();
        drop(shared);
        select! {
            () = sleep(pause) => {}
            () = left.cancelled() => return,
        }
    }
}
