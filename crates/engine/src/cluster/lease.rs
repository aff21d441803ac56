//! The lease of this node. The node stops its turns as soon as the lease can be over.
//!
//! The clock of the store decides when a lease ends. This node cannot read that clock, but its own clock gives an upper
//! bound: one lease after the last successful renewal was *sent*. The epoch fences later commits; the effects of an agent
//! on its environment are not fenced, so the turn is aborted.

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

/// Renews the lease three times per lease time, until the engine stops. A node that has lost its lease stops its turns,
/// because other nodes run them.
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
                    tracing::warn!(node = %cluster.node(), "cluster: this node has lost its lease; its turns are stopped, and the node continues under a new id");
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
                tracing::warn!(error = &error as &dyn std::error::Error, "cluster: cannot renew the lease; retrying");
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

/// Renews the lease once. If the lease can be over before the store answers, the turns are stopped at that time.
async fn renew(shared: &Shared, cluster: &dyn Cluster, over: Instant) -> Result<Lease, StoreError> {
    let mut renewal = pin!(cluster.renew());
    let early = timeout_at(over, &mut renewal).await;
    let is_known = matches!(early, Ok(Ok(_)));
    if !is_known && over <= Instant::now() && shared.members.set_live(false) {
        tracing::warn!(node = %cluster.node(), "cluster: cannot renew the lease in time; turns are stopped");
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

/// Subscribes to the topic of this node, unless subscribed. The lease does not wait for the bus.
fn listen(shared: &Arc<Shared>, node: NodeId, listening: &mut Option<NodeId>) {
    if listening.replace(node) != Some(node) {
        let shared = Arc::clone(shared);
        Shared::spawn(async move { shared.members.listen(&shared, Topic::Node(node)).await });
    }
}
