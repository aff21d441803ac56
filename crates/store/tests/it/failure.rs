//! Databases that cannot be read or written.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use nuncio_engine::{
    Engine, Limits, StoreError, TaskStore, agent_fn,
    store::{ListQuery, Portion},
};
use nuncio_model::{ErrorKind, Message, Reply, Request, Scope, TaskState, op::SendMessageRequest};
use nuncio_store::SqliteOptions;
use tokio::time::sleep;

use crate::support::{Place, begin, chunk, create, end, load, task};

#[tokio::test]
async fn a_bad_commit_does_not_fail_other_commits() {
    let place = Place::new();
    drop(place.open().await);
    place
        .connection()
        .execute_batch(
            "CREATE TRIGGER bad BEFORE INSERT ON tasks WHEN NEW.id LIKE 'bad%' \
             BEGIN SELECT RAISE(ABORT, 'bad'); END",
        )
        .unwrap();
    let store = std::sync::Arc::new(place.open().await);
    let commits: Vec<_> = (0..100)
        .map(|number| {
            let store = store.clone();
            let id = if number % 10 == 0 { format!("bad {number}") } else { format!("{number}") };
            tokio::spawn(async move { store.commit(create(&task(&id, TaskState::Working))).await })
        })
        .collect();
    for (number, commit) in commits.into_iter().enumerate() {
        let outcome = commit.await.unwrap();
        assert_eq!(outcome.is_err(), number % 10 == 0, "{number}: {outcome:?}");
    }
    let query = ListQuery { page_size: 1, ..ListQuery::default() };
    assert_eq!(store.list(&Scope::open(), &query).await.unwrap().total, 90);
}

#[tokio::test]
async fn a_locked_database_is_unavailable_after_the_busy_timeout() {
    let place = Place::new();
    let options = SqliteOptions::new().with_busy_timeout(Duration::from_millis(50));
    let store = place.try_open(options).await.unwrap();
    begin(&store, "t").await;
    let other = place.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.commit(create(&task("u", TaskState::Working))).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(matches!(store.check().await, Err(StoreError::Unavailable(_))));
    load(&store, "t").await;
    other.execute_batch("COMMIT").unwrap();
    store.check().await.unwrap();
    begin(&store, "u").await;
}

/// The number of writes and their start times do not matter: each write waits for its own busy timeout.
#[tokio::test]
async fn each_write_waits_for_its_own_busy_timeout() {
    const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
    const LATE: Duration = Duration::from_millis(500);
    let place = Place::new();
    let store = Arc::new(place.try_open(SqliteOptions::new().with_busy_timeout(BUSY_TIMEOUT)).await.unwrap());
    let other = place.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut commits = Vec::new();
    for round in 0..12 {
        for number in 0..20 {
            let (store, id) = (Arc::clone(&store), format!("{round} {number}"));
            commits.push(tokio::spawn(async move {
                let begun = Instant::now();
                (store.commit(create(&task(&id, TaskState::Working))).await, begun.elapsed())
            }));
        }
        sleep(BUSY_TIMEOUT / 10).await;
    }
    for (number, commit) in commits.into_iter().enumerate() {
        let (refused, waited) = commit.await.unwrap();
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{number}: {refused:?}");
        assert!(waited + BUSY_TIMEOUT / 10 >= BUSY_TIMEOUT && waited <= BUSY_TIMEOUT + LATE, "{number}: {waited:?}");
    }
    // A later write succeeds when the lock is released, although an earlier write was refused.
    let early = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.commit(create(&task("early", TaskState::Working))).await }
    });
    sleep(BUSY_TIMEOUT * 7 / 10).await;
    let late = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.commit(create(&task("late", TaskState::Working))).await }
    });
    assert!(early.await.unwrap().is_err());
    other.execute_batch("COMMIT").unwrap();
    late.await.unwrap().unwrap();
}

/// The waits of the steps of a call do not add up. Tests messages that create a task, and messages to an existing task.
#[tokio::test]
async fn a_call_on_a_locked_database_is_refused_after_about_one_busy_timeout() {
    const BUSY_TIMEOUT: Duration = Duration::from_millis(500);
    let place = Place::new();
    let store = Arc::new(place.try_open(SqliteOptions::new().with_busy_timeout(BUSY_TIMEOUT)).await.unwrap());
    let mut limits = Limits::default();
    limits.commit_retry = BUSY_TIMEOUT;
    let agent = agent_fn(|turn| async move {
        match turn.message().text().as_str() {
            "ask" => turn.ask("what?").await,
            _ => turn.complete("done").await,
        }
    });
    let engine = Engine::builder(agent).limits(limits).store(store).build();
    let send = |message: Message| {
        let engine = engine.clone();
        async move { engine.call(Request::new(Scope::open(), SendMessageRequest::new(message))).await }
    };
    let mut asked = Vec::new();
    for _ in 0..20 {
        let Ok(Reply::Task(task)) = send(Message::user("ask")).await else { panic!("a task") };
        asked.push(task.id.clone());
    }
    let other = place.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answers =
        (0..20).map(|_| Message::user("go")).chain(asked.iter().map(|id| Message::user("go").with_task_id(id.clone())));
    let begun = Instant::now();
    let refused: Vec<_> = answers.map(|message| tokio::spawn(send(message))).collect();
    for (number, refused) in refused.into_iter().enumerate() {
        let error = refused.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{number}: {error:?}");
        assert!(begun.elapsed() <= 2 * BUSY_TIMEOUT + Duration::from_millis(500), "{number}: {:?}", begun.elapsed());
    }
    other.execute_batch("COMMIT").unwrap();
    let Ok(Reply::Task(task)) = send(Message::user("go").with_task_id(asked[0].clone())).await else {
        panic!("a task")
    };
    assert_eq!(task.state(), TaskState::Completed);
}

#[tokio::test]
async fn an_unreadable_row_is_reported_as_corrupt() {
    let place = Place::new();
    let store = place.try_open(SqliteOptions::new().with_cache(0)).await.unwrap();
    let epoch = begin(&store, "body").await.epoch;
    begin(&store, "events").await;
    store.commit(chunk("events", 1, epoch, "x")).await.unwrap();
    begin(&store, "good").await;
    let other = place.connection();
    other.execute("UPDATE tasks SET body = '{\"status\":' WHERE id = 'body'", []).unwrap();
    other.execute("UPDATE events SET body = '[{\"artifactUpdate\":7}]' WHERE key & 0xffff = 2", []).unwrap();
    for id in ["body", "events"] {
        let loaded = store.load(&Scope::open(), &id.into()).await;
        assert!(matches!(loaded, Err(StoreError::Corrupt(_))), "{loaded:?}");
    }
    let records = store.events_after(&Scope::open(), &"events".into(), 0, Portion::records(10)).await;
    assert!(matches!(records, Err(StoreError::Corrupt(_))), "{records:?}");
    load(&store, "good").await;
    end(&store, "good").await.unwrap();
}

#[tokio::test]
async fn an_overwritten_file_is_reported_as_corrupt() {
    let place = Place::new();
    let store = place.try_open(SqliteOptions::new().with_cache(0)).await.unwrap();
    for number in 0..200 {
        begin(&store, &format!("{number}")).await;
    }
    store.close().await.unwrap();
    drop(store);
    let mut bytes = std::fs::read(place.path()).unwrap();
    bytes[8_192..].fill(0x5a);
    std::fs::write(place.path(), bytes).unwrap();
    match place.try_open(SqliteOptions::new().with_cache(0)).await {
        Err(error) => assert!(matches!(error, nuncio_store::OpenError::Sqlite { .. }), "{error}"),
        Ok(store) => {
            let loaded = store.load(&Scope::open(), &"7".into()).await;
            assert!(matches!(loaded, Err(StoreError::Corrupt(_))), "{loaded:?}");
        }
    }
}
