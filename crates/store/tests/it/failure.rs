//! What happens when the database cannot be read or written.

use std::time::Duration;

use nuncio_engine::{
    StoreError, TaskStore,
    store::{ListQuery, Portion},
};
use nuncio_model::{Scope, TaskState};
use nuncio_store::SqliteOptions;

use crate::support::{Place, begin, chunk, create, end, load, task};

#[tokio::test]
async fn one_bad_commit_fails_nobody_else() {
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
async fn a_database_that_another_program_holds_is_waited_for_and_then_unavailable() {
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

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named_corrupt() {
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
async fn a_file_that_is_overwritten_is_named_corrupt() {
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
