//! Fencing: an owner that lost a task and does not know yet.

use std::sync::Arc;

use nuncio_engine::store::{Lease, StoreError};
use nuncio_model::TaskState;

use super::{Claimed, ClusterFixture, LONG, claim, cluster, own, two};
use crate::store::writer::{Writer, at, chunk, status};

/// After a claim by another node, every commit of the old owner conflicts, before and after the first commit of the new
/// owner.
pub async fn the_old_owner_is_fenced_from_the_claim_on<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let mut old = task.clone();
    fixture.expire(&a).await;
    own(&b, &mut task).await;
    old.stage(status(TaskState::Completed, at(1)));
    for released in [true, false] {
        assert!(matches!(old.commit(&a, released, true).await, Err(StoreError::Conflict)));
    }
    task.assert_stored(&b).await;
    task.stage(chunk("mine"));
    task.run(&b).await;
    assert!(matches!(old.commit(&a, true, true).await, Err(StoreError::Conflict)));
    // The old owner knows the new records and still has the old epoch.
    let mut caught_up = Writer { epoch: old.epoch, ..task.clone() };
    caught_up.stage(status(TaskState::Completed, at(1)));
    assert!(matches!(caught_up.commit(&a, true, true).await, Err(StoreError::Conflict)));
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
    assert!(matches!(caught_up.commit(&a, true, true).await, Err(StoreError::Conflict)));
    task.assert_stored(&a).await;
    task.set(&b, TaskState::Failed, at(2)).await;
    task.assert_stored(&a).await;
}

/// A last commit of the old owner either precedes the claim or conflicts. The new owner therefore reads every record.
pub async fn a_commit_precedes_the_claim_or_conflicts<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let b = Arc::new(fixture.open().await);
    for round in 0..20 {
        let a = Arc::new(fixture.open().await);
        let mut task = Writer::new(&format!("{round}"));
        task.run(&*a).await;
        fixture.expire(&*a).await;
        let writes = tokio::spawn({
            let (a, mut old) = (Arc::clone(&a), task.clone());
            async move {
                old.stage(chunk("late"));
                (old.commit(&*a, false, false).await, old)
            }
        });
        let claims = tokio::spawn({
            let (b, task) = (Arc::clone(&b), task.clone());
            async move { claim(&*b, &task).await }
        });
        let ((written, old), claimed) = (writes.await.unwrap(), claims.await.unwrap());
        let Claimed::Owned { stored, abandoned: true, .. } = claimed else { panic!("{claimed:?}") };
        match written {
            Ok(_) => task = old,
            Err(error) => assert!(matches!(error, StoreError::Conflict), "{error:?}"),
        }
        assert_eq!((stored.sequence, &*stored.task), (task.sequence(), &task.task));
        task.epoch = stored.epoch;
        task.stage(chunk("mine"));
        task.run(&*b).await;
        task.assert_stored(&*a).await;
    }
}

/// A late commit by a node that lost its lease must not make the node the owner again. Otherwise the task has an owner
/// without a runner, and no other node can claim the task.
pub async fn a_commit_without_a_lease_does_not_own_the_task<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    fixture.expire(&a).await;
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
    task.stage(chunk("late"));
    if let Err(error) = task.commit(&a, false, false).await {
        assert!(matches!(error, StoreError::Conflict), "{error:?}");
    }
    assert!(matches!(claim(&b, &task).await, Claimed::Owned { abandoned: true, .. }));
}
