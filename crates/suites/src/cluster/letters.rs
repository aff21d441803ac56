//! Letters: commit, cancellation, marks and lookup.

use std::sync::Arc;

use nuncio_engine::store::{LetterId, LetterStatus, Mark, StoreError, TaskStore};
use nuncio_model::{Message, TaskState};

use super::{Claimed, ClusterFixture, LONG, claim, cluster, letter, own, two};
use crate::store::writer::{Writer, at, chunk};

/// The commit that contains the message of a letter takes the letter. The letter stays readable until it is discarded.
pub async fn a_commit_takes_letters<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let letters = ["one", "two", "three"].map(|body| letter(&task, body));
    for letter in &letters {
        cluster(&b).post(letter).await.unwrap();
    }
    task.stage_received(Message::user("one")).stage(chunk("x"));
    task.stage_received(Message::user("three"));
    let mut commit = task.next_commit(false, false);
    commit.letters = vec![(letters[0].id.clone(), 2), (letters[2].id.clone(), 4)];
    a.commit(commit).await.unwrap();
    task.committed();
    task.assert_stored(&b).await;
    assert_eq!(cluster(&a).mail(10).await.unwrap(), [letters[1].clone()]);
    let holder = Some(cluster(&a).node());
    for (letter, taken) in letters.iter().zip([Some(2), None, Some(4)]) {
        let status = cluster(&b).letter(&letter.id).await.unwrap().unwrap();
        assert_eq!(status, LetterStatus { taken, holder, ..LetterStatus::default() });
    }
    cluster(&b).discard(&letters[0].id).await.unwrap();
    cluster(&b).discard(&letters[0].id).await.unwrap();
    assert_eq!(cluster(&b).letter(&letters[0].id).await.unwrap(), None);
    let missing = (LetterId::generate(), 5);
    task.stage(chunk("y"));
    let mut commit = task.next_commit(false, false);
    commit.letters = vec![missing];
    a.commit(commit).await.unwrap();
}

/// A refused commit takes no letter.
pub async fn a_refused_commit_takes_no_letter<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let letter = letter(&task, "x");
    cluster(&b).post(&letter).await.unwrap();
    let mut late = task.clone();
    fixture.expire(&a).await;
    own(&b, &mut task).await;
    late.stage_received(Message::user("x"));
    let mut commit = late.next_commit(false, false);
    commit.letters = vec![(letter.id.clone(), 2)];
    assert!(matches!(a.commit(commit).await, Err(StoreError::Conflict)));
    let status = cluster(&b).letter(&letter.id).await.unwrap().unwrap();
    assert_eq!(status, LetterStatus { holder: Some(cluster(&b).node()), ..LetterStatus::default() });
    assert_eq!(cluster(&b).mail(10).await.unwrap(), [letter]);
}

/// `withdraw` removes a letter that waits, and reports whether the letter was removed.
pub async fn a_letter_can_be_withdrawn_until_a_commit_takes_it<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let (back, taken, refused) = (letter(&task, "back"), letter(&task, "taken"), letter(&task, "refused"));
    for letter in [&back, &taken, &refused] {
        cluster(&b).post(letter).await.unwrap();
    }
    assert!(cluster(&b).withdraw(&back.id).await.unwrap());
    assert!(!cluster(&b).withdraw(&back.id).await.unwrap());
    assert_eq!(cluster(&b).letter(&back.id).await.unwrap(), None);
    task.stage_received(Message::user("taken"));
    let mut commit = task.next_commit(false, false);
    commit.letters = vec![(taken.id.clone(), 2)];
    a.commit(commit).await.unwrap();
    cluster(&a).mark(&refused.id, Mark::Refused(b"no".as_slice().into())).await.unwrap();
    for letter in [&taken, &refused] {
        assert!(!cluster(&b).withdraw(&letter.id).await.unwrap());
        assert!(cluster(&b).letter(&letter.id).await.unwrap().is_some());
    }
    assert_eq!(cluster(&a).mail(10).await.unwrap(), []);
}

/// If a commit and `withdraw` race for a letter, exactly one side succeeds.
pub async fn a_letter_is_taken_or_withdrawn<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (a, b) = (Arc::new(a), Arc::new(b));
    let mut task = Writer::new("t");
    task.run(&*a).await;
    for _ in 0..20 {
        let letter = letter(&task, "x");
        cluster(&*b).post(&letter).await.unwrap();
        let back = tokio::spawn({
            let (b, id) = (Arc::clone(&b), letter.id.clone());
            async move { cluster(&*b).withdraw(&id).await.unwrap() }
        });
        task.stage_received(Message::user("x"));
        let mut commit = task.next_commit(false, false);
        commit.letters = vec![(letter.id.clone(), commit.sequence())];
        a.commit(commit).await.unwrap();
        task.committed();
        let status = cluster(&*b).letter(&letter.id).await.unwrap();
        let is_back = back.await.unwrap();
        assert_eq!(status.is_none(), is_back);
        assert_eq!(status.and_then(|status| status.taken), (!is_back).then(|| task.sequence()));
    }
}

/// Marks of a letter are stored and can be read. A refused letter no longer appears in the mail.
pub async fn marks_are_stored<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    task.run(&a).await;
    let letter = letter(&task, "x");
    cluster(&b).post(&letter).await.unwrap();
    let mut expected = LetterStatus { holder: Some(cluster(&a).node()), ..LetterStatus::default() };
    let reason: Box<[u8]> = [1, 0, 2].into();
    for (mark, is_mail) in [(Mark::Begun(3), true), (Mark::Rested(7), true), (Mark::Refused(reason), false)] {
        match &mark {
            Mark::Begun(record) => expected.begun = Some(*record),
            Mark::Rested(record) => expected.rested = Some(*record),
            Mark::Refused(reason) => expected.refused = Some(reason.clone()),
        }
        cluster(&a).mark(&letter.id, mark.clone()).await.unwrap();
        cluster(&a).mark(&LetterId::generate(), mark).await.unwrap();
        assert_eq!(cluster(&b).letter(&letter.id).await.unwrap(), Some(expected.clone()));
        assert_eq!(cluster(&a).mail(10).await.unwrap().is_empty(), !is_mail);
    }
}

/// One call returns the status of many letters, in the order of the request.
pub async fn a_lookup_returns_many_letters<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let (mut held, mut parked) = (Writer::new("held"), Writer::new("parked"));
    held.run(&a).await;
    parked.run(&a).await;
    let letters = [letter(&held, "one"), letter(&parked, "two"), letter(&held, "three")];
    for letter in &letters {
        cluster(&b).post(letter).await.unwrap();
    }
    parked.set(&a, TaskState::InputRequired, at(1)).await;
    cluster(&a).mark(&letters[2].id, Mark::Begun(4)).await.unwrap();
    let [one, two, three] = letters.map(|letter| letter.id);
    let here = Some(LetterStatus { holder: Some(cluster(&a).node()), ..LetterStatus::default() });
    let begun = here.clone().map(|status| LetterStatus { begun: Some(4), ..status });
    let ids = [three.clone(), LetterId::generate(), one.clone(), two, three];
    let expected = [begun.clone(), None, here, Some(LetterStatus::default()), begun];
    assert_eq!(cluster(&b).letters(&ids).await.unwrap(), expected);
    assert_eq!(cluster(&b).letters(&[]).await.unwrap(), []);
    assert_eq!(cluster(&b).letter(&one).await.unwrap(), expected[2]);
    let many: Vec<_> = (0..3_000).map(|at| if at == 2_999 { one.clone() } else { LetterId::generate() }).collect();
    let found = cluster(&b).letters(&many).await.unwrap();
    assert_eq!((found.len(), found.iter().position(Option::is_some)), (3_000, Some(2_999)));
}

/// A claim returns the letters that wait for the task, oldest first: after a takeover, and after the task was parked.
pub async fn a_claim_returns_the_waiting_letters<F: ClusterFixture>() {
    let fixture = F::new(LONG);
    let (a, b) = two(&fixture).await;
    let mut task = Writer::new("t");
    let mut other = Writer::new("other");
    task.run(&a).await;
    other.run(&a).await;
    let letters = ["one", "two", "three", "four"].map(|body| letter(&task, body));
    for letter in letters.iter().chain([&letter(&other, "other")]) {
        cluster(&b).post(letter).await.unwrap();
    }
    task.stage_received(Message::user("one"));
    let mut commit = task.next_commit(false, false);
    commit.letters = vec![(letters[0].id.clone(), 2)];
    a.commit(commit).await.unwrap();
    task.committed();
    cluster(&a).mark(&letters[2].id, Mark::Refused(b"no".as_slice().into())).await.unwrap();
    let waiting = [letters[1].clone(), letters[3].clone()];
    let given = async |node: &F::Node| match claim(node, &task).await {
        Claimed::Owned { letters, stored, .. } => (letters, stored.epoch),
        Claimed::Held(node) => panic!("held by node {node}"),
    };
    assert_eq!(given(&a).await.0, waiting, "a claim by the owner returns the letters, too");
    task.set(&a, TaskState::InputRequired, at(1)).await;
    let (letters, epoch) = {
        let Claimed::Owned { letters, stored, .. } = claim(&b, &task).await else { panic!("the task is held") };
        (letters, stored.epoch)
    };
    assert_eq!(letters, waiting);
    assert_eq!(cluster(&b).mail(10).await.unwrap(), waiting);
    task.epoch = epoch;
    fixture.expire(&b).await;
    let Claimed::Owned { letters, abandoned: true, .. } = claim(&a, &task).await else { panic!("the task is held") };
    assert_eq!(letters, waiting);
}
