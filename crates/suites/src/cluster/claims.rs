//! Claims: which node owns a task.

use std::sync::Arc;

use nuncio_engine::store::{Lease, TaskStore};
use nuncio_model::{Scope, TaskState};

use super::{Claimed, ClusterFixture, LONG, claim, cluster, own, two};
use crate::store::writer::{Writer, at, chunk};

/// A task at work belongs to its owner while the owner's lease lasts, and no other node can claim the task. A claim by
/// the owner keeps the epoch and reports the task as abandoned, because a node with a runner does not claim.
pub async fn a_task_at_work_belongs_to_its_owner<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let epoch = task.epoch;
    for _ in 0..2 {
        assert!(matches!(claim(&b, &task).await, Claimed::Held(holder) if holder == cluster(&a).node()));
        assert!(own(&a, &mut task).await, "the claim reports that the task was at work");
        assert_eq!(task.epoch, epoch);
    }
    task.stage(chunk("x"));
    task.run(&a).await;
    task.assert_stored(&b).await;
}

/// A claim of a missing task, or of a task in another scope, returns `None`.
pub async fn a_missing_task_cannot_be_claimed<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let foreign = Scope::new("tenant".into(), nuncio_model::Principal::Anonymous);
    for (scope, id) in [(&task.scope, "missing"), (&foreign, "t")] {
        assert!(b.claim(scope, &id.into()).await.unwrap().is_none());
    }
}

/// The first node to claim a parked task owns the task under a new epoch. The node that parked the task is no
/// exception.
pub async fn a_released_task_has_no_owner<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    for (turn, node) in [&b, &a, &a, &b].into_iter().enumerate() {
        task.set(if turn == 0 { &a } else { [&b, &a, &a, &b][turn - 1] }, TaskState::InputRequired, at(1)).await;
        let before = task.epoch;
        assert!(!own(node, &mut task).await, "a task at rest is not abandoned");
        assert_eq!(task.epoch, before + 1);
        let other = if std::ptr::eq(node, &raw const a) { &b } else { &a };
        assert!(matches!(claim(other, &task).await, Claimed::Held(holder) if holder == cluster(node).node()));
        task.stage(chunk("x"));
        task.run(node).await;
    }
}

/// After the owner's lease has ended, the next claim takes the task over and reports the task as abandoned. A second
/// claim by the new owner reports the same, because the answer to the first claim may be lost.
pub async fn a_task_of_a_dead_node_is_taken_over<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    task.stage(chunk("x"));
    task.run(&a).await;
    fixture.expire(&a).await;
    let before = task.epoch;
    assert!(own(&b, &mut task).await);
    assert!(task.epoch > before);
    let taken = task.epoch;
    assert!(own(&b, &mut task).await, "the task is not settled yet");
    assert_eq!(task.epoch, taken);
    let c = fixture.open().await;
    assert!(matches!(claim(&c, &task).await, Claimed::Held(holder) if holder == cluster(&b).node()));
    task.stage(chunk("y"));
    task.run(&b).await;
    task.assert_stored(&a).await;
}

/// A node that lost its lease gets a new node id, and must take over its own tasks.
pub async fn a_node_that_lost_its_lease_takes_its_own_tasks_over<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    fixture.expire(&a).await;
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
    let before = task.epoch;
    assert!(own(&a, &mut task).await);
    assert!(task.epoch > before);
    assert!(matches!(claim(&b, &task).await, Claimed::Held(holder) if holder == cluster(&a).node()));
}

/// A task that has ended has no owner: any node can claim the task any number of times.
pub async fn a_claim_of_an_ended_task_changes_nothing<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    task.set(&a, TaskState::Failed, at(1)).await;
    let epoch = task.epoch;
    for node in [&b, &a, &b] {
        assert!(!own(node, &mut task).await);
        assert_eq!(task.epoch, epoch);
    }
    fixture.expire(&a).await;
    assert!(!own(&b, &mut task).await);
    assert_eq!(task.epoch, epoch);
}

/// If several nodes claim a task at the same time, a single node gets the task, and the others learn its id.
pub async fn a_single_node_wins_a_claim<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let first = fixture.open().await;
    let mut nodes = Vec::new();
    for _ in 0..4 {
        nodes.push(Arc::new(fixture.open().await));
    }
    let mut tasks = Vec::new();
    for number in 0..12 {
        let mut task = Writer::new(&format!("{number}"));
        task.run(&first).await;
        if number % 2 == 0 {
            task.set(&first, TaskState::InputRequired, at(1)).await;
        }
        tasks.push(task);
    }
    fixture.expire(&first).await;
    for (number, task) in tasks.into_iter().enumerate() {
        let claims = nodes.iter().map(|node| {
            let (node, task) = (Arc::clone(node), task.clone());
            tokio::spawn(async move { (cluster(&*node).node(), claim(&*node, &task).await) })
        });
        let (mut owners, mut told) = (Vec::new(), Vec::new());
        for claim in claims.collect::<Vec<_>>() {
            match claim.await.unwrap() {
                (node, Claimed::Owned { stored, abandoned, .. }) => {
                    assert_eq!(abandoned, number % 2 == 1);
                    assert_eq!(stored.epoch, task.epoch + 1, "a single claim succeeds");
                    owners.push(node);
                }
                (_, Claimed::Held(node)) => told.push(node),
            }
        }
        assert_eq!(owners.len(), 1, "{owners:?} own task {number}");
        assert!(told.iter().all(|node| *node == owners[0]), "{told:?} instead of {owners:?}");
    }
}
