//! What nobody is at work on and somebody should be.

use std::time::Instant;

use nuncio_engine::store::{Lease, Orphan, Posted, TaskStore};
use nuncio_model::{Principal, Scope, TaskState};

use super::{Claimed, ClusterFixture, LONG, PATIENCE, SHORT, claim, cluster, letter, own, two};
use crate::store::{
    work::{at_work, entry},
    writer::{Writer, at, chunk},
};

fn orphan(task: &Writer) -> Orphan {
    Orphan { scope: task.scope.clone(), id: task.id().clone() }
}

/// Every node that lives sees what those that are gone have left, until one of them claims it.
pub async fn tasks_of_nodes_that_are_gone_are_orphans<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let c = fixture.open().await;
    let scopes = [Scope::open(), Scope::new("tenant".into(), Principal::named("a"))];
    let mut tasks = Vec::new();
    for (number, id) in ["y", "x", "z"].into_iter().enumerate() {
        let mut task = Writer::new(id).in_scope(&scopes[number % 2]);
        task.run(&a).await;
        tasks.push(task);
    }
    let (mut of_b, mut parked) = (Writer::new("of b"), Writer::new("parked"));
    of_b.run(&b).await;
    parked.run(&a).await;
    parked.set(&a, TaskState::InputRequired, at(1)).await;
    assert_eq!(c.orphans(10).await.unwrap(), []);
    fixture.expire(&a).await;
    let all: Vec<_> = tasks.iter().map(orphan).collect();
    for node in [&b, &c] {
        assert_eq!(node.orphans(10).await.unwrap(), all);
        assert_eq!(node.orphans(2).await.unwrap(), all[..2]);
    }
    assert!(own(&b, &mut tasks[0]).await);
    assert_eq!(c.orphans(10).await.unwrap(), all[1..]);
    fixture.expire(&b).await;
    let left: Vec<_> = [&tasks[0], &tasks[1], &tasks[2], &of_b].map(orphan).into();
    assert_eq!(c.orphans(10).await.unwrap(), left);
    for task in &mut tasks {
        own(&c, task).await;
        task.set(&c, TaskState::Failed, at(2)).await;
    }
    assert_eq!(c.orphans(10).await.unwrap(), [orphan(&of_b)]);
}

/// Nobody is at work on a task that was let go of in the middle, so whoever lives should be.
pub async fn a_task_that_was_let_go_of_in_the_middle_is_an_orphan<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut tasks = [Writer::new("submitted"), Writer::new("working").in_state(TaskState::Working, at(0))];
    for task in &mut tasks {
        task.run(&a).await;
        assert_eq!(b.orphans(10).await.unwrap(), []);
    }
    for task in &mut tasks {
        task.stage(chunk("x"));
        task.release(&a).await;
    }
    for node in [&a, &b] {
        assert_eq!(node.orphans(10).await.unwrap(), [orphan(&tasks[0]), orphan(&tasks[1])]);
        assert_eq!(node.orphans(1).await.unwrap(), [orphan(&tasks[0])]);
    }
    own(&b, &mut tasks[0]).await;
    assert_eq!(a.orphans(10).await.unwrap(), [orphan(&tasks[1])]);
}

/// A node sees what it is at work on as of now, and nothing that another is.
pub async fn a_node_sees_what_it_is_at_work_on<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (mut of_a, mut of_b, mut parked) = (Writer::new("of a"), Writer::new("of b"), Writer::new("parked"));
    of_a.run(&a).await;
    of_b.run(&b).await;
    parked.run(&a).await;
    assert_eq!(at_work(&a, 10).await, [entry(&of_a), entry(&parked)]);
    parked.set(&a, TaskState::InputRequired, at(1)).await;
    assert_eq!((at_work(&a, 10).await, at_work(&b, 10).await), (vec![entry(&of_a)], vec![entry(&of_b)]));
    own(&b, &mut parked).await;
    assert_eq!(at_work(&b, 1).await, [entry(&of_b), entry(&parked)]);
    fixture.expire(&a).await;
    assert_eq!(cluster(&a).renew().await.unwrap(), Lease::Lost);
    assert_eq!(at_work(&a, 10).await, [], "it has nothing under its new name");
    own(&b, &mut of_a).await;
    assert_eq!(at_work(&b, 2).await, [entry(&of_a), entry(&of_b), entry(&parked)]);
}

/// Where a letter waits for longer than a lease and nobody is at work, somebody should be; but not on what has ended.
pub async fn a_task_at_rest_with_an_old_letter_is_an_orphan<F: ClusterFixture>() {
    let fixture = F::new(SHORT);
    let (a, b) = two(&fixture).await;
    let (mut parked, mut ended) = (Writer::new("parked"), Writer::new("ended"));
    parked.run(&a).await;
    ended.run(&a).await;
    let begun = Instant::now();
    for task in [&ended, &parked] {
        let posted = cluster(&b).post(&letter(task, "x")).await.unwrap();
        assert_eq!(posted, Posted::Left(cluster(&a).node()), "a machine so slow is of no use to this test");
    }
    parked.set(&a, TaskState::InputRequired, at(1)).await;
    ended.set(&a, TaskState::Completed, at(1)).await;
    loop {
        let orphans = b.orphans(10).await.unwrap();
        if !orphans.is_empty() {
            assert_eq!(orphans, [orphan(&parked)]);
            assert!(begun.elapsed() >= SHORT);
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "nobody sees that a letter waits");
        tokio::time::sleep(SHORT / 20).await;
    }
    cluster(&b).renew().await.unwrap();
    let Claimed::Owned { letters, abandoned: false, .. } = claim(&b, &parked).await else { panic!("it is held") };
    assert_eq!(letters.len(), 1);
}
