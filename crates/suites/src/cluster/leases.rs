//! Leases: which nodes are alive.

use std::time::Instant;

use nuncio_engine::store::{Lease, TaskStore};

use super::{Claimed, ClusterFixture, LONG, SHORT, TIMEOUT, claim, cluster, two};
use crate::store::writer::Writer;

/// Every node has its own id, and knows the length of a lease.
pub async fn nodes_have_different_ids<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let mut ids = Vec::new();
    for _ in 0..4 {
        let node = fixture.open().await;
        assert_eq!(cluster(&node).lease(), LONG);
        ids.push(cluster(&node).node());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

/// A renewal in time keeps the node id and the tasks.
pub async fn a_renewal_in_time_keeps_the_node_id<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let id = cluster(&a).node();
    let mut task = Writer::new("t");
    task.run(&a).await;
    for _ in 0..3 {
        assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Kept);
        assert_eq!(cluster(&a).node(), id);
        assert!(matches!(claim(&b, &task).await, Claimed::Held(holder) if holder == id));
    }
}

/// A renewal after the end of the lease fails. The node continues under a new id and owns nothing.
pub async fn a_late_renewal_gives_a_new_node_id<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let before = cluster(&a).node();
    let mut task = Writer::new("t");
    task.run(&a).await;
    fixture.expire(&a).await;
    assert_eq!(cluster(&a).node(), before, "the node has not noticed yet");
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
    let after = cluster(&a).node();
    assert!(after != before && after != cluster(&b).node());
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Kept);
    assert_eq!(cluster(&a).node(), after);
    assert!(matches!(claim(&b, &task).await, Claimed::Owned { abandoned: true, .. }));
}

/// Without a renewal the lease lasts its full length and then ends.
pub async fn a_lease_ends_after_its_length<F: ClusterFixture>() {
    let fixture = F::new(SHORT);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    // The lease is renewed after this moment, so the lease cannot end before `renewed + SHORT`.
    let renewed = Instant::now();
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Kept, "the machine is too slow for this test");
    loop {
        cluster(&b).renew().await.unwrap();
        match claim(&b, &task).await {
            Claimed::Held(holder) => assert_eq!(holder, cluster(&a).node()),
            Claimed::Owned { abandoned, .. } => {
                assert!(abandoned && renewed.elapsed() >= SHORT);
                break;
            }
        }
        assert!(renewed.elapsed() < TIMEOUT, "the lease does not end");
        tokio::time::sleep(SHORT / 20).await;
    }
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
}

/// Closing the store ends the lease at once.
pub async fn closing_the_store_ends_the_lease<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    assert!(matches!(claim(&b, &task).await, Claimed::Held(_)));
    a.close().await.unwrap();
    assert!(matches!(claim(&b, &task).await, Claimed::Owned { abandoned: true, .. }));
}
