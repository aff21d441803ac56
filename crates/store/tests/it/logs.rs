//! The retention of logs.

use std::time::Duration;

use nuncio_engine::{StoreError, TaskStore, store::Portion};
use nuncio_model::{Scope, TaskPushNotificationConfig, TaskState, Timestamp};
use nuncio_store::SqliteOptions;

use crate::support::{Place, begin, chunk, create, end, load, task};
use nuncio_engine::store::{PushConfig, PushSettlement};

fn rows(place: &Place) -> i64 {
    place.connection().query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap()
}

/// Waits until background work has deleted the logs.
async fn until_there_are(place: &Place, expected: i64) {
    for _ in 0..200 {
        if rows(place) == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(rows(place), expected);
}

#[tokio::test]
async fn the_log_of_an_ended_task_is_kept_during_the_retention_time() {
    let place = Place::new();
    let store = place.open().await;
    let epoch = begin(&store, "t").await.epoch;
    store.commit(chunk("t", 1, epoch, "x")).await.unwrap();
    end(&store, "t").await.unwrap();
    drop(store);
    let store = place.open().await;
    begin(&store, "another").await;
    let records = store.events_after(&Scope::open(), &"t".into(), 1, Portion::records(10)).await.unwrap();
    assert_eq!(records.iter().map(nuncio_engine::Record::sequence).collect::<Vec<_>>(), [2, 3]);
}

#[tokio::test]
async fn a_task_that_begins_and_ends_in_one_commit_has_no_log() {
    let place = Place::new();
    let store = place.open().await;
    store.commit(create(&task("t", TaskState::Completed))).await.unwrap();
    assert_eq!(rows(&place), 0);
    let compacted = store.events_after(&Scope::open(), &"t".into(), 0, Portion::records(10)).await;
    assert!(matches!(compacted, Err(StoreError::Compacted)), "{compacted:?}");
    load(&store, "t").await;
}

#[tokio::test]
async fn logs_of_ended_tasks_expire_and_logs_of_running_tasks_do_not() {
    let place = Place::new();
    let store = place.try_open(SqliteOptions::new().with_log_retention(Duration::ZERO)).await.unwrap();
    for id in ["ended", "running"] {
        let epoch = begin(&store, id).await.epoch;
        for number in 1..1_000 {
            store.commit(chunk(id, number, epoch, "x")).await.unwrap();
        }
    }
    end(&store, "ended").await.unwrap();
    until_there_are(&place, 1_000).await;
    let records = store.events_after(&Scope::open(), &"running".into(), 0, Portion::records(2_000)).await.unwrap();
    assert_eq!(records.len(), 1_000);
    assert_eq!(load(&store, "ended").await.task.artifacts[0].parts.len(), 999);
}

#[tokio::test]
async fn logs_with_pending_deliveries_are_kept_until_they_are_delivered() {
    let place = Place::new();
    let store = place.try_open(SqliteOptions::new().with_log_retention(Duration::ZERO)).await.unwrap();
    let scope = Scope::open();
    let config = |id: &str, delivered| {
        let config = TaskPushNotificationConfig {
            id: Some("p".into()),
            task_id: Some(id.into()),
            url: "https://example.org/".into(),
            ..Default::default()
        };
        PushConfig { config, format: None, delivered }
    };
    for id in ["a", "b", "c"] {
        let mut commit = create(&task(id, TaskState::Working));
        commit.push_configs.push(config(id, 0));
        store.commit(commit).await.unwrap();
        end(&store, id).await.unwrap();
    }
    begin(&store, "another").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(rows(&place), 7);
    let settlement = PushSettlement {
        scope: scope.clone(),
        task: "a".into(),
        id: "p".into(),
        delivered: 2,
        attempts: 0,
        next_attempt: Timestamp::now(),
        error: None,
    };
    store.settle_push(settlement).await.unwrap();
    until_there_are(&place, 5).await;
    assert!(store.put_push_config(&scope, config("c", u64::MAX)).await.unwrap());
    until_there_are(&place, 3).await;
    assert!(store.delete_push_config(&scope, &"b".into(), &"p".into()).await.unwrap());
    until_there_are(&place, 1).await;
}
