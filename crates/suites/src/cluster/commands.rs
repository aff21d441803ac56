//! Commands: commit, cancellation, reports and lookup.

use std::sync::Arc;

use nuncio_engine::store::{CommandId, CommandStatus, Report, StoreError, TaskStore};
use nuncio_model::{Message, TaskState};

use super::{Claimed, ClusterFixture, LONG, claim, cluster, command, own, two};
use crate::store::writer::{Writer, at, chunk};

/// The commit that contains the message of a command acknowledges the command. The command stays readable until it is deleted.
pub async fn a_commit_acks_commands<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let commands = ["one", "two", "three"].map(|body| command(&task, body));
    for command in &commands {
        cluster(&b).enqueue(command).await.unwrap();
    }
    task.stage_received(Message::user("one")).stage(chunk("x"));
    task.stage_received(Message::user("three"));
    let mut commit = task.next_commit(false, false);
    commit.acks = vec![(commands[0].id.clone(), 2), (commands[2].id.clone(), 4)];
    a.commit(commit).await.unwrap();
    task.committed();
    task.assert_stored(&b).await;
    assert_eq!(cluster(&a).pending(10).await.unwrap(), [commands[1].clone()]);
    let holder = Some(cluster(&a).node());
    for (command, acked) in commands.iter().zip([Some(2), None, Some(4)]) {
        let status = cluster(&b).status(&command.id).await.unwrap().unwrap();
        assert_eq!(status, CommandStatus { acked, holder, ..CommandStatus::default() });
    }
    cluster(&b).delete(&commands[0].id).await.unwrap();
    cluster(&b).delete(&commands[0].id).await.unwrap();
    assert_eq!(cluster(&b).status(&commands[0].id).await.unwrap(), None);
    let missing = (CommandId::generate(), 5);
    task.stage(chunk("y"));
    let mut commit = task.next_commit(false, false);
    commit.acks = vec![missing];
    a.commit(commit).await.unwrap();
}

/// A refused commit takes no command.
pub async fn a_refused_commit_acks_no_command<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let command = command(&task, "x");
    cluster(&b).enqueue(&command).await.unwrap();
    let mut late = task.clone();
    fixture.expire(&a).await;
    own(&b, &mut task).await;
    late.stage_received(Message::user("x"));
    let mut commit = late.next_commit(false, false);
    commit.acks = vec![(command.id.clone(), 2)];
    assert!(matches!(a.commit(commit).await, Err(StoreError::Conflict)));
    let status = cluster(&b).status(&command.id).await.unwrap().unwrap();
    assert_eq!(status, CommandStatus { holder: Some(cluster(&b).node()), ..CommandStatus::default() });
    assert_eq!(cluster(&b).pending(10).await.unwrap(), [command]);
}

/// `cancel` removes a command that waits, and reports whether the command was removed.
pub async fn a_command_can_be_cancelled_until_a_commit_acks_it<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let (back, acked, refused) = (command(&task, "back"), command(&task, "acked"), command(&task, "refused"));
    for command in [&back, &acked, &refused] {
        cluster(&b).enqueue(command).await.unwrap();
    }
    assert!(cluster(&b).cancel(&back.id).await.unwrap());
    assert!(!cluster(&b).cancel(&back.id).await.unwrap());
    assert_eq!(cluster(&b).status(&back.id).await.unwrap(), None);
    task.stage_received(Message::user("acked"));
    let mut commit = task.next_commit(false, false);
    commit.acks = vec![(acked.id.clone(), 2)];
    a.commit(commit).await.unwrap();
    cluster(&a).report(&refused.id, Report::Refused(b"no".as_slice().into())).await.unwrap();
    for command in [&acked, &refused] {
        assert!(!cluster(&b).cancel(&command.id).await.unwrap());
        assert!(cluster(&b).status(&command.id).await.unwrap().is_some());
    }
    assert_eq!(cluster(&a).pending(10).await.unwrap(), []);
}

/// If a commit and `cancel` race for a command, exactly one side succeeds.
pub async fn a_command_is_acked_or_cancelled<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (a, b) = (Arc::new(a), Arc::new(b));
    let mut task = Writer::new("t");
    task.run(&*a).await;
    for _ in 0..20 {
        let command = command(&task, "x");
        cluster(&*b).enqueue(&command).await.unwrap();
        let back = tokio::spawn({
            let (b, id) = (Arc::clone(&b), command.id.clone());
            async move { cluster(&*b).cancel(&id).await.unwrap() }
        });
        task.stage_received(Message::user("x"));
        let mut commit = task.next_commit(false, false);
        commit.acks = vec![(command.id.clone(), commit.sequence())];
        a.commit(commit).await.unwrap();
        task.committed();
        let status = cluster(&*b).status(&command.id).await.unwrap();
        let is_back = back.await.unwrap();
        assert_eq!(status.is_none(), is_back);
        assert_eq!(status.and_then(|status| status.acked), (!is_back).then(|| task.sequence()));
    }
}

/// Reports on a command are stored and can be read. A refused command no longer is pending.
pub async fn reports_are_stored<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let command = command(&task, "x");
    cluster(&b).enqueue(&command).await.unwrap();
    let mut expected = CommandStatus { holder: Some(cluster(&a).node()), ..CommandStatus::default() };
    let reason: Box<[u8]> = [1, 0, 2].into();
    for (report, is_pending) in [(Report::Begun(3), true), (Report::Rested(7), true), (Report::Refused(reason), false)]
    {
        match &report {
            Report::Begun(record) => expected.begun = Some(*record),
            Report::Rested(record) => expected.rested = Some(*record),
            Report::Refused(reason) => expected.refused = Some(reason.clone()),
        }
        cluster(&a).report(&command.id, report.clone()).await.unwrap();
        cluster(&a).report(&CommandId::generate(), report).await.unwrap();
        assert_eq!(cluster(&b).status(&command.id).await.unwrap(), Some(expected.clone()));
        assert_eq!(cluster(&a).pending(10).await.unwrap().is_empty(), !is_pending);
    }
}

/// One call returns the status of many commands, in the order of the request.
pub async fn a_lookup_returns_many_commands<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (mut held, mut parked) = (Writer::new("held"), Writer::new("parked"));
    held.run(&a).await;
    parked.run(&a).await;
    let commands = [command(&held, "one"), command(&parked, "two"), command(&held, "three")];
    for command in &commands {
        cluster(&b).enqueue(command).await.unwrap();
    }
    parked.set(&a, TaskState::InputRequired, at(1)).await;
    cluster(&a).report(&commands[2].id, Report::Begun(4)).await.unwrap();
    let [one, two, three] = commands.map(|command| command.id);
    let here = Some(CommandStatus { holder: Some(cluster(&a).node()), ..CommandStatus::default() });
    let begun = here.clone().map(|status| CommandStatus { begun: Some(4), ..status });
    let ids = [three.clone(), CommandId::generate(), one.clone(), two, three];
    let expected = [begun.clone(), None, here, Some(CommandStatus::default()), begun];
    assert_eq!(cluster(&b).statuses(&ids).await.unwrap(), expected);
    assert_eq!(cluster(&b).statuses(&[]).await.unwrap(), []);
    assert_eq!(cluster(&b).status(&one).await.unwrap(), expected[2]);
    let many: Vec<_> = (0..3_000).map(|at| if at == 2_999 { one.clone() } else { CommandId::generate() }).collect();
    let found = cluster(&b).statuses(&many).await.unwrap();
    assert_eq!((found.len(), found.iter().position(Option::is_some)), (3_000, Some(2_999)));
}

/// A claim returns the commands that wait for the task, oldest first: after a takeover, and after the task was parked.
pub async fn a_claim_returns_the_waiting_commands<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    let mut other = Writer::new("other");
    task.run(&a).await;
    other.run(&a).await;
    let commands = ["one", "two", "three", "four"].map(|body| command(&task, body));
    for command in commands.iter().chain([&command(&other, "other")]) {
        cluster(&b).enqueue(command).await.unwrap();
    }
    task.stage_received(Message::user("one"));
    let mut commit = task.next_commit(false, false);
    commit.acks = vec![(commands[0].id.clone(), 2)];
    a.commit(commit).await.unwrap();
    task.committed();
    cluster(&a).report(&commands[2].id, Report::Refused(b"no".as_slice().into())).await.unwrap();
    let waiting = [commands[1].clone(), commands[3].clone()];
    let given = async |node: &F::Node| match claim(node, &task).await {
        Claimed::Owned { commands, stored, .. } => (commands, stored.epoch),
        Claimed::Held(node) => panic!("held by node {node}"),
    };
    assert_eq!(given(&a).await.0, waiting, "a claim by the owner returns the commands, too");
    task.set(&a, TaskState::InputRequired, at(1)).await;
    let (commands, epoch) = {
        let Claimed::Owned { commands, stored, .. } = claim(&b, &task).await else { panic!("the task is held") };
        (commands, stored.epoch)
    };
    assert_eq!(commands, waiting);
    assert_eq!(cluster(&b).pending(10).await.unwrap(), waiting);
    task.epoch = epoch;
    fixture.expire(&b).await;
    let Claimed::Owned { commands, abandoned: true, .. } = claim(&a, &task).await else { panic!("the task is held") };
    assert_eq!(commands, waiting);
}
