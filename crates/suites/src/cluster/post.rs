//! Letters are left, and come to who is at work.

use std::sync::Arc;

use nuncio_engine::store::{Letter, LetterStatus, Posted, TaskStore};
use nuncio_model::{Message, Principal, Scope, TaskState};

use super::{Claimed, ClusterFixture, LONG, claim, cluster, letter, own, two};
use crate::store::writer::{Writer, at};

/// A letter comes to the node at work on the task, whole, and to no other.
pub async fn a_letter_is_left_with_who_is_at_work<F: ClusterFixture>() {
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
    assert_eq!(cluster(&b).letter(&letter.id).await.unwrap(), nobody, "who is gone holds nothing");
}

/// At rest, ended, missing, another's, abandoned: then no letter is left.
pub async fn nothing_is_left_where_nobody_is_at_work<F: ClusterFixture>() {
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

/// A letter that is posted again, as after an answer that was lost, is there once.
pub async fn a_letter_is_left_once<F: ClusterFixture>() {
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

/// Who does not know what came of a letter posts it again, whatever has happened meanwhile: it is there once, and is
/// not taken for one that was never left, or its writer would do what it says and the next owner too.
pub async fn a_letter_that_was_left_is_known_to_be_there<F: ClusterFixture>() {
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
        let Claimed::Owned { letters, .. } = claim(&b, &task).await else { panic!("it is held") };
        assert_eq!(letters, std::slice::from_ref(&left));
        let holder = cluster(&b).node();
        assert_eq!(cluster(&b).post(&left).await.unwrap(), Posted::Left(holder));
    }
}

/// Mail comes oldest first, as much as was asked for, to who has the task now.
pub async fn mail_is_in_order_and_of_this_node<F: ClusterFixture>() {
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
    assert_eq!(cluster(&a).mail(10).await.unwrap(), of_one, "a task at rest has nobody whose mail it were");
}

/// While a node lets go of a task a letter is left with it before that, and the next claim brings it; or it is not
/// left.
pub async fn a_letter_is_left_before_the_task_is_let_go_of_or_not_at_all<F: ClusterFixture>() {
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
        let Claimed::Owned { letters, stored, .. } = claim(&*b, &task).await else { panic!("it is held") };
        match posted {
            Posted::Left(node) => {
                assert_eq!((node, letters), (cluster(&*a).node(), vec![letter]));
            }
            Posted::Unheld => {
                assert_eq!(letters, []);
                assert_eq!(cluster(&*b).letter(&letter.id).await.unwrap(), None);
            }
            Posted::NoTask | Posted::Waits => panic!("it is there, and its letter was not"),
        }
        task.epoch = stored.epoch;
        own(&*b, &mut task).await;
        task.set(&*b, TaskState::Completed, at(2)).await;
        assert!(b.orphans(10).await.unwrap().is_empty());
    }
}
