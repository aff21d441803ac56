//! Detection of duplicate messages.

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

/// A time before all commits, by any clock.
pub(crate) fn long_ago() -> Timestamp {
    at(0)
}

/// A time after all commits.
fn later() -> Timestamp {
    let hour = Duration::from_hours(1).as_millis();
    Timestamp::from_millisecond(Timestamp::now().as_millisecond() + i64::try_from(hour).unwrap()).unwrap()
}

fn remembering(commit: Commit, messages: &[&str], since: Timestamp) -> Commit {
    let messages = messages.iter().map(|id| MessageId::from(*id)).collect();
    Commit { remember: Some(Box::new(Remember { messages, since })), ..commit }
}

/// Commits the staged records and remembers messages. After an error the records stay staged.
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

/// The task that already has the message of a refused commit.
fn repeated(outcome: Result<Committed, StoreError>) -> String {
    match outcome {
        Err(StoreError::Duplicate(task)) => task.as_str().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A remembered message cannot create a second task, and the refused commit writes nothing. Without `remember` the
/// commit succeeds.
pub async fn a_remembered_message_is_refused<F: StoreFixture>(fixture: F) {
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

/// Messages of an existing task are remembered, too. A duplicate changes no task.
pub async fn messages_of_an_existing_task_are_remembered<F: StoreFixture>(fixture: F) {
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

/// A message older than `since` is unknown.
pub async fn an_old_message_is_unknown<F: StoreFixture>(fixture: F) {
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

/// Messages of different callers and tenants are independent.
pub async fn messages_of_callers_are_separate<F: StoreFixture>(fixture: F) {
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

/// A commit that conflicts remembers nothing. The conflict takes precedence over a remembered message, because the
/// commit may be a repetition.
pub async fn a_refused_commit_remembers_nothing<F: StoreFixture>(fixture: F) {
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

/// Of 50 commits that create a task with the same message, exactly 1 succeeds. The others learn the id of its task.
pub async fn a_single_concurrent_duplicate_is_stored<F: StoreFixture>(fixture: F) {
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

/// Remembered messages are known after a restart.
pub async fn remembered_messages_survive_a_restart<F: StoreFixture>(fixture: F) {
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

/// `forget_messages` removes old messages in time, even without further commits. Newer messages stay.
pub async fn old_messages_are_forgotten<F: StoreFixture>(fixture: F) {
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
        assert!(begun.elapsed() < Duration::from_secs(30), "the message is still known");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    commit(&mut second, &store, &["0"], long_ago()).await.unwrap();
}
