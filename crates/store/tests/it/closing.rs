//! Closing and dropping a store.

use std::{future::Future, pin::pin, task::Context};

use nuncio_engine::{StoreError, TaskStore};
use nuncio_model::{Scope, TaskState};
use nuncio_store::SqliteOptions;

use crate::support::{Place, begin, chunk, create, load, task};

#[tokio::test]
async fn a_closed_store_leaves_one_complete_file_and_refuses_calls() {
    let place = Place::new();
    let store = place.try_open(SqliteOptions::new().with_cache(0)).await.unwrap();
    for number in 0..100 {
        begin(&store, &format!("{number}")).await;
    }
    store.close().await.unwrap();
    let wal = std::fs::metadata(place.path().with_file_name("tasks.db-wal")).map_or(0, |file| file.len());
    assert_eq!(wal, 0);
    let late = store.commit(create(&task("late", TaskState::Working))).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    let loaded = store.load(&Scope::open(), &"99".into()).await;
    assert!(matches!(loaded, Err(StoreError::Unavailable(_))), "{loaded:?}");
    assert!(matches!(store.orphans(1).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(store.check().await, Err(StoreError::Unavailable(_))));
    drop(store);
    load(&place.open().await, "99").await;
}

#[tokio::test]
async fn a_dropped_commit_is_executed_completely_or_not_at_all() {
    let place = Place::new();
    let store = place.open().await;
    let epoch = begin(&store, "t").await.epoch;
    let mut context = Context::from_waker(std::task::Waker::noop());
    for number in 0..50 {
        let id = format!("{number}");
        {
            let commit = create(&task(&id, TaskState::Working));
            let mut dropped = pin!(store.commit(commit));
            assert!(dropped.as_mut().poll(&mut context).is_pending());
        }
        {
            let mut dropped = pin!(store.commit(chunk("t", 1, epoch, &id)));
            assert!(dropped.as_mut().poll(&mut context).is_pending());
        }
    }
    // The queue is ordered: when this commit is done, all earlier commits are done.
    begin(&store, "after").await;
    let stored = load(&store, "t").await;
    assert_eq!((stored.sequence, stored.task.artifacts.len()), (2, 1), "exactly one of the commits is written");
    for number in 0..50 {
        let stored = store.load(&Scope::open(), &format!("{number}").into()).await.unwrap();
        assert!(stored.is_none_or(|stored| stored.task.history.len() == 1));
    }
}

#[test]
fn after_the_end_of_the_runtime_calls_fail_as_unavailable() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(async {
        let store = place.open().await;
        begin(&store, "t").await;
        store
    });
    drop(runtime);
    let other = tokio::runtime::Runtime::new().unwrap();
    let late = other.block_on(store.commit(create(&task("late", TaskState::Working))));
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    drop(store);
    other.block_on(async { load(&place.open().await, "t").await });
}
