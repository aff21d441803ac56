//! Posting letters, and reading the mail of a node.

use std::sync::Arc;

use nuncio_engine::store::{Letter, LetterStatus, Posted, TaskStore};
use nuncio_model::{Message, Principal, Scope, TaskState};

use super::{Claimed, ClusterFixture, LONG, claim, cluster, letter, own, two};
use crate::store::writer::{Writer, at};

/// A letter reaches the owner of the task with its exact bytes, and no other node.
pub async fn a_letter_reaches_the_owner<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t").in_scope(&Scope::new("tenant".into(), Principal::named("a")));
    task.run(&a).await;
    let letter = Letter { body: [0, 255, b'{', 10].into(), ..letter(&task, "") };
    let holder = cluster(&a).node();
    assert_eq!(cluster(&b).post(&letter).await.unwrap(), Posted::Left(holder));
    assert_eq!(cluster(&a).mail(10).await.unwrap(), std::slice::from_ref(&letter));
    assert_eq!(cluster(&b).mail(10).await.unwrap(), []);
    let expected = LetterStatus { holder: Some(holder), ..LetterStatus::default() };
    for node in [&a, &b] {
        assert_eq!(cluster(node).letter(&letter.id).await.unwrap(), Some(expected.clone()));
    }
    fixture.expire(&a).await;
    let nobody = Some(LetterStatus::default());
    assert_eq!(cluster(&b).letter(&letter.id).await.unwrap(), nobody, "a dead node holds no task");
}

/// A letter is not stored if the task is parked, ended, missing, in another scope or abandoned.
pub async fn a_letter_without_an_owner_is_not_stored<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut tasks = Vec::new();
    for (id, state) in [("parked", TaskState::InputRequired), ("ended", TaskState::Canceled)] {
        let mut task = Writer::new(id);
        task.run(&a).await;
        task.set(&a, state, at(1)).await;
        tasks.push((task, Posted::Unheld));
    }
    let mut abandoned = Writer::new("abandoned");
    abandoned.run(&a).await;
    let foreign = Scope::new("tenant".into(), Principal::Open);
    tasks.push((Writer::new("missing"), Posted::NoTask));
    tasks.push((Writer::new("abandoned").in_scope(&foreign), Posted::NoTask));
    tasks.push((abandoned, Posted::Unheld));
    fixture.expire(&a).await;
    for (task, posted) in &tasks {
        let letter = letter(task, "x");
        assert_eq!(cluster(&b).post(&letter).await.unwrap(), *posted, "{}", task.id());
        assert_eq!(cluster(&b).letter(&letter.id).await.unwrap(), None, "{}", task.id());
    }
}

/// A letter that is posted twice, because the first answer was lost, is stored once.
pub async fn a_letter_is_stored_once<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let first = letter(&task, "first");
    let again = Letter { body: b"again".as_slice().into(), ..first.clone() };
    for letter in [&first, &again] {
        assert_eq!(cluster(&b).post(letter).await.unwrap(), Posted::Left(cluster(&a).node()));
    }
    assert_eq!(cluster(&a).mail(10).await.unwrap(), [first]);
}

/// A node that does not know whether its letter was stored posts the letter again. The store reports that the letter
/// exists, even after the owner has parked the task or died. Otherwise the sender and the next owner both execute the
/// letter.
pub async fn a_repeated_post_reports_the_stored_letter<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    for is_gone in [false, true] {
        let mut task = Writer::new(if is_gone { "abandoned" } else { "parked" });
        task.run(&a).await;
        let (left, taken) = (letter(&task, "left"), letter(&task, "taken"));
        for letter in [&left, &taken] {
            cluster(&b).post(letter).await.unwrap();
        }
        task.stage_received(Message::user("taken"));
        let mut commit = task.next_commit(false, false);
        commit.letters = vec![(taken.id.clone(), 2)];
        a.commit(commit).await.unwrap();
        task.committed();
        if is_gone {
            fixture.expire(&a).await;
        } else {
            task.set(&a, TaskState::InputRequired, at(1)).await;
        }
        for letter in [&left, &taken, &left] {
            assert_eq!(cluster(&b).post(letter).await.unwrap(), Posted::Waits);
        }
        assert_eq!(cluster(&b).post(&letter(&task, "new")).await.unwrap(), Posted::Unheld);
        let Claimed::Owned { letters, .. } = claim(&b, &task).await else { panic!("the task is held") };
        assert_eq!(letters, std::slice::from_ref(&left));
        let holder = cluster(&b).node();
        assert_eq!(cluster(&b).post(&left).await.unwrap(), Posted::Left(holder));
    }
}

/// The mail of the current owner is sorted by age, oldest first, and limited to the requested number.
pub async fn mail_is_sorted_and_belongs_to_the_node<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (mut one, mut two, mut of_b) = (Writer::new("one"), Writer::new("two"), Writer::new("of b"));
    one.run(&a).await;
    two.run(&a).await;
    of_b.run(&b).await;
    let mut letters = Vec::new();
    for number in 0..7 {
        let letter = letter([&one, &two][number % 2], &format!("{number}"));
        cluster(&b).post(&letter).await.unwrap();
        letters.push(letter);
    }
    let own_mail = letter(&of_b, "x");
    cluster(&a).post(&own_mail).await.unwrap();
    for limit in [0, 1, 3, 7, 100] {
        assert_eq!(cluster(&a).mail(limit).await.unwrap(), letters[..limit.min(7)]);
    }
    assert_eq!(cluster(&b).mail(10).await.unwrap(), [own_mail]);
    two.set(&a, TaskState::InputRequired, at(1)).await;
    let of_one: Vec<_> = letters.iter().step_by(2).cloned().collect();
    assert_eq!(cluster(&a).mail(10).await.unwrap(), of_one, "a task at rest has no owner");
}

/// If a letter and a release of the task race, the letter is stored before the release and the next claim returns the
/// letter, or the letter is not stored.
pub async fn a_letter_is_stored_before_the_release_or_not_at_all<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (a, b) = (Arc::new(a), Arc::new(b));
    for round in 0..20 {
        let mut task = Writer::new(&format!("{round}"));
        task.run(&*a).await;
        let letter = letter(&task, "x");
        let posts = tokio::spawn({
            let (b, letter) = (Arc::clone(&b), letter.clone());
            async move { cluster(&*b).post(&letter).await.unwrap() }
        });
        task.set(&*a, TaskState::InputRequired, at(1)).await;
        let posted = posts.await.unwrap();
        let Claimed::Owned { letters, stored, .. } = claim(&*b, &task).await else { panic!("the task is held") };
        match posted {
            Posted::Left(node) => {
                assert_eq!((node, letters), (cluster(&*a).node(), vec![letter]));
            }
            Posted::Unheld => {
                assert_eq!(letters, []);
                assert_eq!(cluster(&*b).letter(&letter.id).await.unwrap(), None);
            }
            Posted::NoTask | Posted::Waits => panic!("the task exists, and the letter is new"),
        }
        task.epoch = stored.epoch;
        own(&*b, &mut task).await;
        task.set(&*b, TaskState::Completed, at(2)).await;
        assert!(b.orphans(10).await.unwrap().is_empty());
    }
}
