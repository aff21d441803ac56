//! Which nodes live.

use std::time::Instant;

use nuncio_engine::store::{Lease, TaskStore};

use super::{Claimed, ClusterFixture, LONG, PATIENCE, SHORT, claim, cluster, two};
use crate::store::writer::Writer;

/// Every node has an id of its own, and knows how long a lease is.
pub async fn nodes_are_told_apart<F: ClusterFixture>() {
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

/// A renewal in time changes nothing.
pub async fn who_renews_in_time_stays_who_it_is<F: ClusterFixture>() {
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

/// Once the lease is over it is not renewed, but the node goes on as another, which has nothing of the first.
pub async fn who_renews_too_late_is_another<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let before = cluster(&a).node();
    let mut task = Writer::new("t");
    task.run(&a).await;
    fixture.expire(&a).await;
    assert_eq!(cluster(&a).node(), before, "it has not noticed yet");
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
    let after = cluster(&a).node();
    assert!(after != before && after != cluster(&b).node());
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Kept);
    assert_eq!(cluster(&a).node(), after);
    assert!(matches!(claim(&b, &task).await, Claimed::Owned { abandoned: true, .. }));
}

/// Without a renewal a node is gone when its lease is over, and lives until then.
pub async fn a_lease_ends_by_itself_and_not_before<F: ClusterFixture>() {
    let fixture = F::new(SHORT);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    // However slow this machine is, the lease is no shorter than from here.
    let renewed = Instant::now();
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Kept, "a machine so slow is of no use to this test");
    loop {
        cluster(&b).renew().await.unwrap();
        match claim(&b, &task).await {
            Claimed::Held(holder) => assert_eq!(holder, cluster(&a).node()),
            Claimed::Owned { abandoned, .. } => {
                assert!(abandoned && renewed.elapsed() >= SHORT);
                break;
            }
        }
        assert!(renewed.elapsed() < PATIENCE, "the lease does not end");
        tokio::time::sleep(SHORT / 20).await;
    }
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
}

/// A node that closes the store need not be waited for.
pub async fn a_node_that_closes_has_no_lease<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    assert!(matches!(claim(&b, &task).await, Claimed::Held(_)));
    a.close().await.unwrap();
    assert!(matches!(claim(&b, &task).await, Claimed::Owned { abandoned: true, .. }));
}
