//! Orphans: tasks without a runner that need a runner.

use std::time::Instant;

use nuncio_engine::store::{Enqueued, Lease, Orphan, TaskStore};
use nuncio_model::{Principal, Scope, TaskState};

use super::{Claimed, ClusterFixture, LONG, SHORT, TIMEOUT, claim, cluster, command, own, two};
use crate::store::{
    work::{at_work, entry},
    writer::{Writer, at, chunk},
};

fn orphan(task: &Writer) -> Orphan {
    Orphan { scope: task.scope.clone(), id: task.id().clone() }
}

/// Every live node lists the tasks of dead nodes, until a node claims them.
pub async fn tasks_of_dead_nodes_are_orphans<F: ClusterFixture>() {
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

/// A task that was released in the state submitted or working is an orphan.
pub async fn a_task_released_before_rest_is_an_orphan<F: ClusterFixture>() {
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

/// A node lists the tasks that it owns now, and no tasks of other nodes.
pub async fn a_node_lists_its_own_tasks_at_work<F: ClusterFixture>() {
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
    assert_eq!(at_work(&a, 10).await, [], "the new node id owns nothing");
    own(&b, &mut of_a).await;
    assert_eq!(at_work(&b, 2).await, [entry(&of_a), entry(&of_b), entry(&parked)]);
}

/// A parked task is an orphan when a command has waited for longer than a lease. A task that has ended is not.
pub async fn a_task_at_rest_with_an_old_command_is_an_orphan<F: ClusterFixture>() {
    let fixture = F::new(SHORT);
    let (a, b) = two(&fixture).await;
    let (mut parked, mut ended) = (Writer::new("parked"), Writer::new("ended"));
    parked.run(&a).await;
    ended.run(&a).await;
    let begun = Instant::now();
    for task in [&ended, &parked] {
        let enqueued = cluster(&b).enqueue(&command(task, "x")).await.unwrap();
        assert_eq!(enqueued, Enqueued::Stored(cluster(&a).node()), "the machine is too slow for this test");
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
        assert!(begun.elapsed() < TIMEOUT, "the waiting command is not found");
        tokio::time::sleep(SHORT / 20).await;
    }
    cluster(&b).renew().await.unwrap();
    let Claimed::Owned { commands, abandoned: false, .. } = claim(&b, &parked).await else {
        panic!("the task is held")
    };
    assert_eq!(commands.len(), 1);
}
