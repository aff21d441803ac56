//! A store that is opened for administration: its allowed and refused calls.

use std::sync::Arc;

use nuncio_engine::{
    StoreError, TaskStore as _,
    store::{Commit, Erase},
};
use nuncio_model::{Scope, TaskState, Timestamp};
use nuncio_store::PostgresStore;

use super::place::{Place, options};
use crate::support::{chunk, create, task};

async fn beside(place: &Place) -> PostgresStore {
    PostgresStore::open_beside(place.url(), options()).await.unwrap()
}

fn is_refused<T>(outcome: Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Unavailable(reason)) if reason.to_string().contains("for administration"))
}

#[tokio::test]
async fn an_administration_store_cannot_claim_or_write_tasks() {
    let place = Place::new();
    let node = place.open(options()).await;
    node.commit(create(&task("t", TaskState::Working))).await.unwrap();
    let visitor = beside(&place).await;
    assert!(visitor.orphans(10).await.unwrap().is_empty());
    place.end_leases().await;
    let orphans = visitor.orphans(10).await.unwrap();
    assert_eq!(orphans.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["t"]);
    let scope = Scope::open();
    assert!(is_refused(visitor.claim(&scope, &"t".into()).await));
    assert!(is_refused(visitor.commit(chunk("t", 1, 1, "x")).await));
    assert!(is_refused(visitor.commit(create(&task("new", TaskState::Completed))).await));
    assert!(is_refused(visitor.due_pushes(Timestamp::now(), 10).await));
    assert!(is_refused(visitor.cluster().unwrap().renew().await));
    visitor.close().await.unwrap();
    let rows = place.client().await.query_one("SELECT count(*) FROM nodes", &[]).await.unwrap();
    assert_eq!(rows.get::<_, i64>(0), 1, "the store is not registered as a node");
}

/// Appends to a task until the task is deleted.
async fn write(store: Arc<PostgresStore>, id: String) {
    for sequence in 1.. {
        let commit = Commit { snapshot: Some(Arc::new(task(&id, TaskState::Working))), ..chunk(&id, sequence, 1, "x") };
        match store.commit(commit).await {
            Ok(_) => {}
            Err(StoreError::Conflict) => return,
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasing_tasks_during_writes_leaves_no_data() {
    let place = Place::new();
    let node = Arc::new(place.open(options()).await);
    let visitor = beside(&place).await;
    for round in 0..50 {
        let ids: Vec<_> = (0..8).map(|number| format!("{round}.{number}")).collect();
        let mut writers = tokio::task::JoinSet::new();
        for id in ids {
            node.commit(create(&task(&id, TaskState::Working))).await.unwrap();
            writers.spawn(write(Arc::clone(&node), id));
        }
        assert_eq!(visitor.erase(&Erase::Scope(Scope::open())).await.unwrap(), 8);
        writers.join_all().await;
        assert_eq!(visitor.verify().await.unwrap(), Vec::<String>::new(), "round {round}");
    }
}
