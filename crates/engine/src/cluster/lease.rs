//! The lease: this node says that it lives, and stops what it runs as soon as it does not know any more that it does.
//!
//! The store's clock says when a lease is over. This node does not see it, but its own clock says when the lease cannot
//! last longer for sure: a lease after the last renewal that was kept was *sent*. Commits after that are fenced by
//! their epoch; what an agent does to the world is not, so its turn is cut off.

use std::{
    pin::pin,
    sync::{Arc, Weak},
};

use tokio::{
    select,
    time::{Instant, sleep_until, timeout_at},
};

use crate::{
    bugs,
    bus::Topic,
    inbox::Control,
    shared::Shared,
    store::{Cluster, Lease, NodeId, StoreError},
};

/// Renews the lease three times within its length, until the engine stops. A node that has lost it stops what it runs:
/// others run it.
pub(super) async fn keep(shared: Weak<Shared>) {
    let (mut listening, mut over) = (None, None);
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let Some(cluster) = shared.store.cluster() else { return };
        let lease = cluster.lease();
        let sent = Instant::now();
        let ends = *over.get_or_insert(sent + lease);
        let pause = match renew(&shared, cluster, ends).await {
            Ok(renewed) => {
                if renewed == Lease::Lost {
                    tracing::warn!(node = %cluster.node(), "this node was silent for too long; it goes on under another id");
                    lose_all(&shared);
                }
                over = Some(sent + lease);
                shared.members.set_live(true);
                // After a node failed, other nodes must deliver its pending notifications.
                shared.push_wakeups.notify_one();
                listen(&shared, cluster.node(), &mut listening);
                lease / 3
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the lease was not renewed");
                lease / 12
            }
        };
        let left = shared.members.left().clone();
        drop(shared);
        let now = Instant::now();
        let next = over.filter(|over| *over > now).map_or(now + pause, |over| over.min(now + pause));
        select! {
            () = sleep_until(next) => {}
            () = left.cancelled() => return,
        }
    }
}

/// Renews the lease once. Where it is over before that is known, what runs is stopped then.
async fn renew(shared: &Shared, cluster: &dyn Cluster, over: Instant) -> Result<Lease, StoreError> {
    let mut renewal = pin!(cluster.renew());
    let early = timeout_at(over, &mut renewal).await;
    let is_known = matches!(early, Ok(Ok(_)));
    if !is_known && over <= Instant::now() && shared.members.set_live(false) {
        tracing::warn!(node = %cluster.node(), "this node cannot say that it lives; it stops what it runs");
        lose_all(shared);
    }
    match early {
        Ok(renewed) => renewed,
        Err(_) => renewal.await,
    }
}

fn lose_all(shared: &Shared) {
    if bugs::ignores_fencing() {
        return;
    }
    shared.registry.all().iter().for_each(|live| live.tell_runner(Control::Lost));
}

/// Listens to what is told this node, if it does not yet. The lease does not wait for the bus.
fn listen(shared: &Arc<Shared>, node: NodeId, listening: &mut Option<NodeId>) {
    if listening.replace(node) != Some(node) {
        let shared = Arc::clone(shared);
        Shared::spawn(async move { shared.members.listen(&shared, Topic::Node(node)).await });
    }
}
