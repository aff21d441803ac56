//! Many at once.

use std::{collections::HashSet, sync::Arc};

use nuncio_model::{TaskState, Timestamp};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk},
};
use crate::store::{StoreError, TaskStore};

/// Of a hundred commits to the same place of a log exactly one is written.
pub async fn one_of_many_writers_wins_each_record<F: StoreFixture>(fixture: F) {
    let store = Arc::new(fixture.open().await);
    let mut task = Writer::new("t");
    task.run(&*store).await;
    for round in 0..5 {
        let writers: Vec<_> = (0..100)
            .map(|number| {
                let (store, mut task) = (Arc::clone(&store), task.clone());
                tokio::spawn(async move {
                    task.stage(chunk(&format!("{round}.{number}")));
                    task.commit(&*store, false, false).await.map(|_| task)
                })
            })
            .collect();
        let mut winners = Vec::new();
        for writer in writers {
            match writer.await.unwrap() {
                Ok(winner) => winners.push(winner),
                Err(error) => assert!(matches!(error, StoreError::Conflict), "{error:?}"),
            }
        }
        assert_eq!(winners.len(), 1);
        task = winners.remove(0);
        task.assert_stored(&*store).await;
    }
}

/// Of many that create a task of the same id one does.
pub async fn one_of_many_creators_wins<F: StoreFixture>(fixture: F) {
    let store = Arc::new(fixture.open().await);
    let creators: Vec<_> = (0..50)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut task = Writer::new("t").in_context(&format!("{number}"));
                task.commit(&*store, number % 2 == 0, true).await.map(|_| task)
            })
        })
        .collect();
    let mut winners = Vec::new();
    for creator in creators {
        winners.extend(creator.await.unwrap().ok());
    }
    assert_eq!(winners.len(), 1);
    winners[0].assert_stored(&*store).await;
    let page = store.list(&winners[0].scope, &crate::store::ListQuery { page_size: 10, ..Default::default() }).await;
    assert_eq!(page.unwrap().total, 1);
}

/// Writers of different tasks do not get in each other's way, and none of them is refused.
pub async fn many_tasks_are_written_at_once<F: StoreFixture>(fixture: F) {
    let store = Arc::new(fixture.open().await);
    let writers: Vec<_> = (0..200)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut task = Writer::new(&format!("task {number}")).in_context(&format!("{}", number % 7));
                task.run(&*store).await;
                task.set(&*store, TaskState::Working, at(number)).await;
                for step in 0..5 {
                    task.stage(chunk(&format!("{step} ")));
                    task.run(&*store).await;
                }
                task.set(&*store, TaskState::Completed, at(1000 + number)).await;
                task
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().assert_stored(&*store).await;
    }
    let query = crate::store::ListQuery { page_size: 100, state: Some(TaskState::Completed), ..Default::default() };
    let page = store.list(&nuncio_model::Scope::open(), &query).await.unwrap();
    assert_eq!(page.total, 200);
    let times: Vec<Option<Timestamp>> = page.tasks.iter().map(|task| task.status.timestamp).collect();
    assert_eq!(times, (100..200).rev().map(|number| Some(at(1000 + number))).collect::<Vec<_>>());
}

/// Who reads while another writes sees the task before a commit or after it, never less than was there before.
pub async fn readers_see_whole_commits<F: StoreFixture>(fixture: F) {
    let store = Arc::new(fixture.open().await);
    let mut task = Writer::new("t");
    task.run(&*store).await;
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (store, scope, id) = (Arc::clone(&store), task.scope.clone(), task.id().clone());
            tokio::spawn(async move {
                let (mut last, mut seen) = (0, HashSet::new());
                loop {
                    let stored = store.load(&scope, &id).await.unwrap().unwrap();
                    assert!(stored.sequence >= last, "{} after {last}", stored.sequence);
                    last = stored.sequence;
                    seen.insert(last);
                    let parts = stored.task.artifacts.first().map_or(0, |artifact| artifact.parts.len());
                    assert!(parts.is_multiple_of(3), "{parts} parts, written three at a time");
                    if stored.task.state().is_terminal() {
                        return seen.len();
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for number in 0..300 {
        for piece in 0..3 {
            task.stage(chunk(&format!("{number}.{piece}")));
        }
        task.commit(&*store, false, number % 50 == 0).await.unwrap();
        let own = task.load(&*store).await;
        assert_eq!(own.sequence, task.sequence(), "what was acknowledged is read");
    }
    task.set(&*store, TaskState::Completed, at(1)).await;
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    task.assert_stored(&*store).await;
}
