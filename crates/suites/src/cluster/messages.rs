//! Duplicate messages at different nodes.

use std::sync::Arc;

use nuncio_engine::store::{StoreError, TaskStore as _};
use nuncio_model::Message;

use super::{ClusterFixture, LONG, two};
use crate::store::{
    messages::{commit, find, long_ago},
    writer::Writer,
};

/// The result of a commit: the expected task, and the id of the task that has the message if the commit was refused.
type Outcome = (Writer, Result<(), String>);

/// Runs commits at the same time, each with messages to remember. A task that exists already has a staged message.
async fn at_once<F: ClusterFixture>(commits: Vec<(Arc<F::Node>, Writer, Vec<String>)>) -> Vec<Outcome> {
    let commits: Vec<_> = commits
        .into_iter()
        .map(|(node, mut task, messages)| {
            tokio::spawn(async move {
                let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
                let before = task.clone();
                match commit(&mut task, &*node, &messages, long_ago()).await {
                    Ok(_) => (task, Ok(())),
                    Err(StoreError::Duplicate(of)) => (before, Err(of.as_str().to_owned())),
                    Err(error) => panic!("{error:?}"),
                }
            })
        })
        .collect();
    let mut outcomes = Vec::with_capacity(commits.len());
    for one in commits {
        outcomes.push(one.await.unwrap());
    }
    outcomes
}

/// If two nodes commit the same message, for a new task or a running task, one commit succeeds and the other returns
/// the id of the task that has the message.
pub async fn a_single_node_commits_a_message<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let nodes = [Arc::new(a), Arc::new(b)];
    for round in 0..10 {
        // At each node, half of the messages are for a running task.
        let mut commits = Vec::new();
        for number in 0..8 {
            for (place, node) in nodes.iter().enumerate() {
                let mut task = Writer::new(&format!("{round}.{number}.{place}"));
                if number % 4 / 2 == place {
                    task.run(&**node).await;
                    task.stage_received(Message::user("again"));
                }
                commits.push((Arc::clone(node), task, vec![format!("{round}.{number}")]));
            }
        }
        let outcomes = at_once::<F>(commits).await;
        for (number, pair) in outcomes.chunks(2).enumerate() {
            let ([(won, Ok(())), (lost, Err(of))] | [(lost, Err(of)), (won, Ok(()))]) = pair else {
                panic!("{pair:?}");
            };
            assert_eq!(of, won.id().as_str());
            for node in &nodes {
                won.assert_stored(&**node).await;
                assert_eq!(
                    find(&**node, &won.scope, &format!("{round}.{number}"), long_ago()).await.as_ref(),
                    Some(of)
                );
                let stored = node.load(&lost.scope, lost.id()).await.unwrap();
                assert_eq!(stored.map_or(0, |stored| stored.sequence), lost.sequence());
            }
        }
    }
}

/// Two nodes commit the same messages in opposite order. The commits do not deadlock, and each message is stored once.
pub async fn messages_in_opposite_order_do_not_deadlock<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let nodes = [Arc::new(a), Arc::new(b)];
    for round in 0..10 {
        let commits = (0..40).map(|number| {
            let place = number % 2;
            let of = if place == 0 { number / 2 } else { 19 - number / 2 };
            let mut messages = vec![format!("{round}.{of}"), format!("{round}.{}", (of + 1) % 20)];
            if place == 1 {
                messages.reverse();
            }
            (Arc::clone(&nodes[place]), Writer::new(&format!("{round}.{number}")), messages)
        });
        let commits: Vec<_> = commits.collect();
        let asked: Vec<_> = commits.iter().map(|(.., messages)| messages.clone()).collect();
        let outcomes = at_once::<F>(commits).await;
        let mut taken = 0;
        for ((task, outcome), messages) in outcomes.iter().zip(&asked) {
            let stored = nodes[0].load(&task.scope, task.id()).await.unwrap();
            assert_eq!(stored.is_some(), outcome.is_ok());
            for message in messages {
                let found = find(&*nodes[1], &task.scope, message, long_ago()).await;
                match outcome {
                    Ok(()) => assert_eq!(found.as_deref(), Some(task.id().as_str())),
                    Err(_) => assert_ne!(found.as_deref(), Some(task.id().as_str())),
                }
            }
            if let Err(of) = outcome {
                let mut theirs = outcomes.iter().zip(&asked).filter(|((task, _), _)| task.id().as_str() == of);
                let ((_, won), has) = theirs.next().unwrap();
                assert!(won.is_ok() && has.iter().any(|message| messages.contains(message)));
            }
            taken += usize::from(outcome.is_ok());
        }
        // The pairs are neighbours on a ring of 20, and each refused pair overlaps with a stored pair.
        assert!((7..=10).contains(&taken), "{taken}");
    }
}
