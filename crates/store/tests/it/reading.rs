//! Reads that run at the same time as writes.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nuncio_engine::TaskStore;
use nuncio_model::{Artifact, Part, Scope, TaskId, TaskState};
use nuncio_store::SqliteOptions;

use crate::support::{Place, create, load, task};

/// Options without a cache.
fn uncached() -> SqliteOptions {
    SqliteOptions::new().with_cache(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_acknowledged_task_is_found_by_all_readers() {
    let place = Place::new();
    let store = Arc::new(place.try_open(uncached()).await.unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    store.commit(create(&task("known", TaskState::Completed))).await.unwrap();
    let readers = (0..3).map(|_| {
        let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                load(&store, "known").await;
                tokio::task::yield_now().await;
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    for number in 0..500 {
        let id = format!("t{number}");
        assert!(store.load(&Scope::open(), &TaskId::from(&*id)).await.unwrap().is_none());
        store.commit(create(&task(&id, TaskState::Completed))).await.unwrap();
        let reads: Vec<_> = (0..3)
            .map(|_| {
                tokio::spawn({
                    let (store, id) = (Arc::clone(&store), TaskId::from(&*id));
                    async move { store.load(&Scope::open(), &id).await.unwrap().is_some() }
                })
            })
            .collect();
        for read in reads {
            assert!(read.await.unwrap(), "{id}");
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_write_ahead_log_stays_short_under_continuous_reads() {
    const MEBIBYTE: u64 = 1 << 20;
    let place = Place::new();
    let store = Arc::new(place.try_open(uncached()).await.unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    store.commit(create(&task("known", TaskState::Completed))).await.unwrap();
    let readers = (0..4).map(|_| {
        let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
        tokio::spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..16 {
                    load(&store, "known").await;
                }
                tokio::task::yield_now().await;
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    let log = place.path().with_extension("db-wal");
    // 1,600 tasks of 60,000 bytes are 92 MiB.
    let text = "x".repeat(60_000);
    let mut longest = 0;
    for number in 0..1_600 {
        let mut big = task(&format!("t{number}"), TaskState::Completed);
        big.artifacts.push(Artifact::new("a", vec![Part::text(&*text)]));
        store.commit(create(&big)).await.unwrap();
        longest = longest.max(fs::metadata(&log).unwrap().len());
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
    assert!((8 * MEBIBYTE..40 * MEBIBYTE).contains(&longest), "the log grew to {} MiB", longest / MEBIBYTE);
}
