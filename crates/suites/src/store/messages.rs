//! Messages that are known when they come again.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use nuncio_engine::store::{Commit, Committed, ListQuery, Remember, StoreError, TaskStore};
use nuncio_model::{Message, MessageId, Principal, Scope, Timestamp};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk},
};

/// Long before all commits, whoever's clock counts.
pub(crate) fn long_ago() -> Timestamp {
    at(0)
}

/// Long after all commits.
fn later() -> Timestamp {
    let hour = Duration::from_hours(1).as_millis();
    Timestamp::from_millisecond(Timestamp::now().as_millisecond() + i64::try_from(hour).unwrap()).unwrap()
}

fn remembering(commit: Commit, messages: &[&str], since: Timestamp) -> Commit {
    let messages = messages.iter().map(|id| MessageId::from(*id)).collect();
    Commit { remember: Some(Box::new(Remember { messages, since })), ..commit }
}

/// Commits what is staged, with messages to be remembered; an error stages it again.
pub(crate) async fn commit(
    task: &mut Writer,
    store: &impl TaskStore,
    messages: &[&str],
    since: Timestamp,
) -> Result<Committed, StoreError> {
    let creates = task.sequence() == 0;
    let committed = store.commit(remembering(task.next_commit(false, creates), messages, since)).await?;
    task.epoch = committed.epoch;
    task.committed();
    Ok(committed)
}

pub(crate) async fn find(store: &impl TaskStore, scope: &Scope, message: &str, since: Timestamp) -> Option<String> {
    let found = store.task_of_message(scope, &message.into(), since).await.unwrap();
    found.map(|id| id.as_str().to_owned())
}

/// The task that a commit was refused for.
fn repeated(outcome: Result<Committed, StoreError>) -> String {
    match outcome {
        Err(StoreError::Repeated(task)) => task.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A message that began a task begins no other, and nothing of that is written; one that nobody is to remember does.
pub async fn a_remembered_message_is_refused_again<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    assert_eq!(find(&store, &Scope::open(), "m", long_ago()).await, None);
    let mut first = Writer::new("first");
    commit(&mut first, &store, &["m"], long_ago()).await.unwrap();
    assert_eq!(find(&store, &Scope::open(), "m", long_ago()).await.unwrap(), "first");
    let mut second = Writer::new("second");
    for messages in [&["m"][..], &["n", "m"], &["m", "n"]] {
        assert_eq!(repeated(commit(&mut second, &store, messages, long_ago()).await), "first");
    }
    assert!(store.load(&second.scope, second.id()).await.unwrap().is_none());
    let query = ListQuery { page_size: 10, ..ListQuery::default() };
    assert_eq!(store.list(&Scope::open(), &query).await.unwrap().total, 1);
    assert_eq!(find(&store, &Scope::open(), "n", long_ago()).await, None);
    first.assert_stored(&store).await;
    second.run(&store).await;
    second.assert_stored(&store).await;
    assert_eq!(find(&store, &Scope::open(), "m", long_ago()).await.unwrap(), "first");
}

/// Messages that come to a task are known too, and a repetition changes neither its task nor another.
pub async fn a_message_of_a_task_at_work_is_remembered<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let (mut one, mut other) = (Writer::new("one"), Writer::new("other"));
    commit(&mut one, &store, &["first of one"], long_ago()).await.unwrap();
    commit(&mut other, &store, &["first of other"], long_ago()).await.unwrap();
    one.stage_received(Message::user("x")).stage_received(Message::user("y"));
    commit(&mut one, &store, &["x", "y"], long_ago()).await.unwrap();
    one.stage(chunk("an answer"));
    one.run(&store).await;
    for message in ["first of one", "x", "y"] {
        assert_eq!(find(&store, &Scope::open(), message, long_ago()).await.unwrap(), "one");
        for task in [&one, &other] {
            let mut again = task.clone();
            again.stage_received(Message::user("again"));
            assert_eq!(repeated(commit(&mut again, &store, &[message], long_ago()).await), "one");
        }
    }
    one.assert_stored(&store).await;
    other.assert_stored(&store).await;
    one.release(&store).await;
    assert_eq!(find(&store, &Scope::open(), "y", long_ago()).await.unwrap(), "one");
}

/// A message whose time is over is as one that never came.
pub async fn a_message_is_known_for_its_time<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    commit(&mut Writer::new("first"), &store, &["m", "n"], long_ago()).await.unwrap();
    assert_eq!(find(&store, &Scope::open(), "m", later()).await, None);
    let mut second = Writer::new("second");
    commit(&mut second, &store, &["m"], later()).await.unwrap();
    second.assert_stored(&store).await;
    assert_eq!(find(&store, &Scope::open(), "m", long_ago()).await.unwrap(), "second");
    let third = commit(&mut Writer::new("third"), &store, &["m"], long_ago()).await;
    assert_eq!(repeated(third), "second");
}

/// What one caller or tenant sent says nothing of another's.
pub async fn messages_of_callers_do_not_mix<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let scopes = [
        Scope::open(),
        Scope::new("".into(), Principal::named("a")),
        Scope::new("tenant".into(), Principal::named("a")),
        Scope::new("tenant".into(), Principal::named("b")),
    ];
    for (number, scope) in scopes.iter().enumerate() {
        assert_eq!(find(&store, scope, "m", long_ago()).await, None);
        let mut task = Writer::new(&format!("{number}")).in_scope(scope);
        commit(&mut task, &store, &["m"], long_ago()).await.unwrap();
    }
    for (number, scope) in scopes.iter().enumerate() {
        assert_eq!(find(&store, scope, "m", long_ago()).await.unwrap(), format!("{number}"));
    }
}

/// A commit that conflicts remembers nothing, and conflicts also where its message is known: it was written before.
pub async fn a_message_that_was_not_written_is_not_known<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    commit(&mut task, &store, &["m"], long_ago()).await.unwrap();
    task.stage_received(Message::user("x"));
    let next = task.next_commit(false, false);
    for (wrong, message) in [
        (Commit { expected: 7, ..next.clone() }, "x"),
        (Commit { epoch: 1_000_000, ..next.clone() }, "x"),
        (Commit { expected: 7, ..next.clone() }, "m"),
    ] {
        let refused = store.commit(remembering(wrong, &[message], long_ago())).await;
        assert!(matches!(refused, Err(StoreError::Conflict)), "{refused:?}");
        assert_eq!(find(&store, &Scope::open(), "x", long_ago()).await, None);
    }
    commit(&mut task, &store, &["x"], long_ago()).await.unwrap();
    let again = store.commit(remembering(next, &["x"], long_ago())).await;
    assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
    task.assert_stored(&store).await;
}

/// Of many that begin a task with the same message one does, and the others learn which.
pub async fn one_of_many_repetitions_is_written<F: StoreFixture>(fixture: F) {
    let store = Arc::new(fixture.open().await);
    for round in 0..5 {
        let message = format!("m{round}");
        let many: Vec<_> = (0..50)
            .map(|number| {
                let (store, message) = (Arc::clone(&store), message.clone());
                tokio::spawn(async move {
                    let mut task = Writer::new(&format!("{round}.{number}"));
                    let outcome = commit(&mut task, &*store, &[&message], long_ago()).await;
                    (task, outcome)
                })
            })
            .collect();
        let (mut winners, mut losers) = (Vec::new(), Vec::new());
        for one in many {
            match one.await.unwrap() {
                (task, Ok(_)) => winners.push(task),
                (task, refused) => losers.push((task, repeated(refused))),
            }
        }
        assert_eq!((winners.len(), losers.len()), (1, 49));
        winners[0].assert_stored(&*store).await;
        for (task, winner) in losers {
            assert_eq!(winner, winners[0].id().as_str());
            assert!(store.load(&task.scope, task.id()).await.unwrap().is_none());
        }
    }
}

/// What is remembered is known after the store is opened again.
pub async fn remembered_messages_survive<F: StoreFixture>(fixture: F) {
    if !F::DURABLE {
        return;
    }
    let mut task = Writer::new("t");
    {
        let store = fixture.open().await;
        commit(&mut task, &store, &["m"], long_ago()).await.unwrap();
        task.stage_received(Message::user("x"));
        commit(&mut task, &store, &["x"], long_ago()).await.unwrap();
        task.release(&store).await;
    }
    let store = fixture.open().await;
    for message in ["m", "x"] {
        assert_eq!(find(&store, &Scope::open(), message, long_ago()).await.unwrap(), "t");
        let again = commit(&mut Writer::new("again"), &store, &[message], long_ago()).await;
        assert_eq!(repeated(again), "t");
    }
}

/// In its time, also where nothing is committed any more; those that came after stay.
pub async fn messages_that_nobody_asks_for_any_more_are_forgotten<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let open = Scope::open();
    let (mut first, mut second) = (Writer::new("first"), Writer::new("second"));
    let many: Vec<String> = (0..600).map(|number| format!("{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    commit(&mut first, &store, &many, long_ago()).await.unwrap();
    store.forget_messages(long_ago()).await.unwrap();
    assert_eq!(find(&store, &open, "0", long_ago()).await.as_deref(), Some("first"));
    store.forget_messages(later()).await.unwrap();
    let begun = Instant::now();
    while find(&store, &open, "0", long_ago()).await.is_some() || find(&store, &open, "599", long_ago()).await.is_some()
    {
        assert!(begun.elapsed() < Duration::from_secs(30), "it is known still");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    commit(&mut second, &store, &["0"], long_ago()).await.unwrap();
}
