//! An owner that does not know that it is none any more.

use std::sync::Arc;

use nuncio_engine::store::{Lease, StoreError};
use nuncio_model::TaskState;

use super::{Claimed, ClusterFixture, LONG, claim, cluster, own, two};
use crate::store::writer::{Writer, at, chunk, status};

/// From the claim on the old owner writes nothing, though the log still ends where it left it; nor after that.
pub async fn the_old_owner_is_fenced_before_and_after_the_new_ones_first_commit<F: ClusterFixture>() {
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
    // Also where the old one has seen what the new one wrote.
    let mut caught_up = Writer { epoch: old.epoch, ..task.clone() };
    caught_up.stage(status(TaskState::Completed, at(1)));
    assert!(matches!(caught_up.commit(&a, true, true).await, Err(StoreError::Conflict)));
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
    assert!(matches!(caught_up.commit(&a, true, true).await, Err(StoreError::Conflict)));
    task.assert_stored(&a).await;
    task.set(&b, TaskState::Failed, at(2)).await;
    task.assert_stored(&a).await;
}

/// The last commit of the old owner is there before the new one claims, or is refused: the new one has seen all there
/// is.
pub async fn of_an_owner_and_who_takes_over_one_is_first<F: ClusterFixture>() {
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

/// What a node still writes to a task that it had before it lost its lease does not make the task its own again: nobody
/// would be at work on it, and nobody else would get it.
pub async fn a_node_that_lost_its_lease_makes_no_task_its_own_by_a_commit<F: ClusterFixture>() {
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
