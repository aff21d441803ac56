//! Which node owns a task.

use std::sync::Arc;

use nuncio_engine::store::{Lease, TaskStore};
use nuncio_model::{Scope, TaskState};

use super::{Claimed, ClusterFixture, LONG, claim, cluster, own, two};
use crate::store::writer::{Writer, at, chunk};

/// While its owner lives and is at work nobody else gets a task. The owner keeps its epoch, and is told that it was at
/// work: it would not claim the task if it had a runner for it.
pub async fn a_task_at_work_is_held<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let epoch = task.epoch;
    for _ in 0..2 {
        assert!(matches!(claim(&b, &task).await, Claimed::Held(holder) if holder == cluster(&a).node()));
        assert!(own(&a, &mut task).await, "nobody is at work on it any more");
        assert_eq!(task.epoch, epoch);
    }
    task.stage(chunk("x"));
    task.run(&a).await;
    task.assert_stored(&b).await;
}

/// Nobody owns what is not there, or is another's.
pub async fn a_task_that_is_not_there_is_nobodys<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let foreign = Scope::new("tenant".into(), nuncio_model::Principal::Anonymous);
    for (scope, id) in [(&task.scope, "missing"), (&foreign, "t")] {
        assert!(b.claim(scope, &id.into()).await.unwrap().is_none());
    }
}

/// A task that is at rest is whose node claims it first, under a new epoch; also when that is the one that let go of
/// it.
pub async fn who_lets_go_of_a_task_owns_it_no_more<F: ClusterFixture>() {
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

/// A node that is gone leaves its task to the next that claims it, and it is known to be abandoned; also to that node
/// if it claims it again, as it may have had no answer.
pub async fn a_task_of_a_node_that_is_gone_is_taken_over<F: ClusterFixture>() {
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
    assert!(own(&b, &mut task).await, "it is settled by nobody yet");
    assert_eq!(task.epoch, taken);
    let c = fixture.open().await;
    assert!(matches!(claim(&c, &task).await, Claimed::Held(holder) if holder == cluster(&b).node()));
    task.stage(chunk("y"));
    task.run(&b).await;
    task.assert_stored(&a).await;
}

/// A node that was silent for too long is another, also to its own tasks.
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

/// There is nothing to own of a task that has ended: any node is given it, as often as it likes.
pub async fn a_claim_of_a_task_that_has_ended_changes_nothing<F: ClusterFixture>() {
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

/// Of nodes that claim a task at the same time one gets it and the others are told which.
pub async fn one_of_many_nodes_wins_a_claim<F: ClusterFixture>() {
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
                    assert_eq!(stored.epoch, task.epoch + 1, "it is claimed once");
                    owners.push(node);
                }
                (_, Claimed::Held(node)) => told.push(node),
            }
        }
        assert_eq!(owners.len(), 1, "{owners:?} own task {number}");
        assert!(told.iter().all(|node| *node == owners[0]), "{told:?} instead of {owners:?}");
    }
}
