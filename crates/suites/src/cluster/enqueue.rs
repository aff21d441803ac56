//! Enqueues commands, and reads the pending commands of a node.

use std::sync::Arc;

use nuncio_engine::store::{Command, CommandStatus, Enqueued, TaskStore};
use nuncio_model::{Message, Principal, Scope, TaskState};

use super::{Claimed, ClusterFixture, LONG, claim, cluster, command, own, two};
use crate::store::writer::{Writer, at};

/// A command reaches the owner of the task with its exact bytes, and no other node.
pub async fn a_command_reaches_the_owner<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t").in_scope(&Scope::new("tenant".into(), Principal::named("a")));
    task.run(&a).await;
    let command = Command { body: [0, 255, b'{', 10].into(), ..command(&task, "") };
    let holder = cluster(&a).node();
    assert_eq!(cluster(&b).enqueue(&command).await.unwrap(), Enqueued::Stored(holder));
    assert_eq!(cluster(&a).pending(10).await.unwrap(), std::slice::from_ref(&command));
    assert_eq!(cluster(&b).pending(10).await.unwrap(), []);
    let expected = CommandStatus { holder: Some(holder), ..CommandStatus::default() };
    for node in [&a, &b] {
        assert_eq!(cluster(node).status(&command.id).await.unwrap(), Some(expected.clone()));
    }
    fixture.expire(&a).await;
    let nobody = Some(CommandStatus::default());
    assert_eq!(cluster(&b).status(&command.id).await.unwrap(), nobody, "a dead node holds no task");
}

/// A command is not stored if the task is parked, ended, missing, in another scope or abandoned.
pub async fn a_command_without_an_owner_is_not_stored<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut tasks = Vec::new();
    for (id, state) in [("parked", TaskState::InputRequired), ("ended", TaskState::Canceled)] {
        let mut task = Writer::new(id);
        task.run(&a).await;
        task.set(&a, state, at(1)).await;
        tasks.push((task, Enqueued::NoOwner));
    }
    let mut abandoned = Writer::new("abandoned");
    abandoned.run(&a).await;
    let foreign = Scope::new("tenant".into(), Principal::Open);
    tasks.push((Writer::new("missing"), Enqueued::NoTask));
    tasks.push((Writer::new("abandoned").in_scope(&foreign), Enqueued::NoTask));
    tasks.push((abandoned, Enqueued::NoOwner));
    fixture.expire(&a).await;
    for (task, enqueued) in &tasks {
        let command = command(task, "x");
        assert_eq!(cluster(&b).enqueue(&command).await.unwrap(), *enqueued, "{}", task.id());
        assert_eq!(cluster(&b).status(&command.id).await.unwrap(), None, "{}", task.id());
    }
}

/// A command that is enqueued twice, because the first answer was lost, is stored once.
pub async fn a_command_is_stored_once<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let first = command(&task, "first");
    let again = Command { body: b"again".as_slice().into(), ..first.clone() };
    for command in [&first, &again] {
        assert_eq!(cluster(&b).enqueue(command).await.unwrap(), Enqueued::Stored(cluster(&a).node()));
    }
    assert_eq!(cluster(&a).pending(10).await.unwrap(), [first]);
}

/// A node that does not know whether its command was stored enqueues the command again. The store reports that the command
/// exists, even after the owner has parked the task or died. Otherwise the sender and the next owner both execute the
/// command.
pub async fn a_repeated_enqueue_reports_the_stored_command<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    for is_gone in [false, true] {
        let mut task = Writer::new(if is_gone { "abandoned" } else { "parked" });
        task.run(&a).await;
        let (left, acked) = (command(&task, "left"), command(&task, "acked"));
        for command in [&left, &acked] {
            cluster(&b).enqueue(command).await.unwrap();
        }
        task.stage_received(Message::user("acked"));
        let mut commit = task.next_commit(false, false);
        commit.acks = vec![(acked.id.clone(), 2)];
        a.commit(commit).await.unwrap();
        task.committed();
        if is_gone {
            fixture.expire(&a).await;
        } else {
            task.set(&a, TaskState::InputRequired, at(1)).await;
        }
        for command in [&left, &acked, &left] {
            assert_eq!(cluster(&b).enqueue(command).await.unwrap(), Enqueued::Waits);
        }
        assert_eq!(cluster(&b).enqueue(&command(&task, "new")).await.unwrap(), Enqueued::NoOwner);
        let Claimed::Owned { commands, .. } = claim(&b, &task).await else { panic!("the task is held") };
        assert_eq!(commands, std::slice::from_ref(&left));
        let holder = cluster(&b).node();
        assert_eq!(cluster(&b).enqueue(&left).await.unwrap(), Enqueued::Stored(holder));
    }
}

/// The pending commands of the current owner are sorted by age, oldest first, and limited to the requested number.
pub async fn pending_commands_are_sorted_and_belong_to_the_node<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (mut one, mut two, mut of_b) = (Writer::new("one"), Writer::new("two"), Writer::new("of b"));
    one.run(&a).await;
    two.run(&a).await;
    of_b.run(&b).await;
    let mut commands = Vec::new();
    for number in 0..7 {
        let command = command([&one, &two][number % 2], &format!("{number}"));
        cluster(&b).enqueue(&command).await.unwrap();
        commands.push(command);
    }
    let own_pending = command(&of_b, "x");
    cluster(&a).enqueue(&own_pending).await.unwrap();
    for limit in [0, 1, 3, 7, 100] {
        assert_eq!(cluster(&a).pending(limit).await.unwrap(), commands[..limit.min(7)]);
    }
    assert_eq!(cluster(&b).pending(10).await.unwrap(), [own_pending]);
    two.set(&a, TaskState::InputRequired, at(1)).await;
    let of_one: Vec<_> = commands.iter().step_by(2).cloned().collect();
    assert_eq!(cluster(&a).pending(10).await.unwrap(), of_one, "a task at rest has no owner");
}

/// If a command and a release of the task race, the command is stored before the release and the next claim returns the
/// command, or the command is not stored.
pub async fn a_command_is_stored_before_the_release_or_not_at_all<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (a, b) = (Arc::new(a), Arc::new(b));
    for round in 0..20 {
        let mut task = Writer::new(&format!("{round}"));
        task.run(&*a).await;
        let command = command(&task, "x");
        let sender = tokio::spawn({
            let (b, command) = (Arc::clone(&b), command.clone());
            async move { cluster(&*b).enqueue(&command).await.unwrap() }
        });
        task.set(&*a, TaskState::InputRequired, at(1)).await;
        let enqueued = sender.await.unwrap();
        let Claimed::Owned { commands, stored, .. } = claim(&*b, &task).await else { panic!("the task is held") };
        match enqueued {
            Enqueued::Stored(node) => {
                assert_eq!((node, commands), (cluster(&*a).node(), vec![command]));
            }
            Enqueued::NoOwner => {
                assert_eq!(commands, []);
                assert_eq!(cluster(&*b).status(&command.id).await.unwrap(), None);
            }
            Enqueued::NoTask | Enqueued::Waits => panic!("the task exists, and the command is new"),
        }
        task.epoch = stored.epoch;
        own(&*b, &mut task).await;
        task.set(&*b, TaskState::Completed, at(2)).await;
        assert!(b.orphans(10).await.unwrap().is_empty());
    }
}
