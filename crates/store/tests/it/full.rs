//! A full disk.

use std::sync::Arc;

use nuncio_engine::{StoreError, TaskStore};
use nuncio_model::{Scope, TaskState};
use nuncio_store::{SqliteOptions, SqliteStore};
use nuncio_testbed::Disk;

use crate::support::{begin, chunk, create, load, task};

/// A disk of 4 MiB. `None` if an environment variable disables this test: only root can mount a disk.
fn small() -> Option<Disk> {
    match Disk::mount(4) {
        Ok(disk) => Some(disk),
        Err(_) if std::env::var_os("NUNCIO_TEST_WITHOUT_ROOT").is_some() => None,
        Err(error) => panic!("{error:#}, or NUNCIO_TEST_WITHOUT_ROOT=1 to leave this test out"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_writes_and_loses_no_data_until_there_is_room() {
    let Some(disk) = small() else { return };
    let path = disk.path().join("tasks.db");
    let store = Arc::new(SqliteStore::open(&path, SqliteOptions::new().with_cache(0)).await.unwrap());
    let epoch = begin(&store, "running").await.epoch;
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for round in 0..100 {
        let commits: Vec<_> = (0..16)
            .map(|number| {
                let (store, id) = (Arc::clone(&store), format!("{round}.{number}"));
                tokio::spawn(async move {
                    let mut task = task(&id, TaskState::Completed);
                    task.history.push(nuncio_model::Message::user("x".repeat(8_000)));
                    (id, store.commit(create(&task)).await)
                })
            })
            .collect();
        for commit in commits {
            match commit.await.unwrap() {
                (id, Ok(_)) => acknowledged.push(id),
                (_, Err(error)) => {
                    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
                    refused += 1;
                }
            }
        }
        if refused > 100 {
            break;
        }
    }
    assert!(refused > 100 && acknowledged.len() > 50, "{refused} refused, {} written", acknowledged.len());
    // A small write may still succeed.
    let checked = store.check().await;
    assert!(matches!(checked, Ok(()) | Err(StoreError::Full(_))), "{checked:?}");
    // Reads still succeed.
    for id in &acknowledged {
        load(&store, id).await;
    }
    assert_eq!(load(&store, "running").await.sequence, 1);
    disk.resize(64).unwrap();
    store.check().await.unwrap();
    store.commit(chunk("running", 1, epoch, "x")).await.unwrap();
    begin(&store, "new").await;
    drop(store);
    let store = SqliteStore::open(&path, SqliteOptions::default()).await.unwrap();
    for id in &acknowledged {
        load(&store, id).await;
    }
    assert_eq!(load(&store, "running").await.sequence, 2);
    let query = nuncio_engine::store::ListQuery { page_size: 1, ..Default::default() };
    assert_eq!(store.list(&Scope::open(), &query).await.unwrap().total, acknowledged.len() + 2);
}
