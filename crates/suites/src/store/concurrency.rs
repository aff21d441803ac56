//! Concurrent writers and readers.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nuncio_engine::store::{ListQuery, StoreError, TaskStore};
use nuncio_model::{TaskState, Timestamp};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk, status},
};

/// Exactly 1 of 100 commits at the same position of a log succeeds.
pub async fn a_single_concurrent_commit_succeeds<F: StoreFixture>(fixture: F) {
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

/// Exactly 1 of 50 commits that create the same task succeeds.
pub async fn a_single_concurrent_creation_succeeds<F: StoreFixture>(fixture: F) {
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
    let page = store.list(&winners[0].scope, &ListQuery { page_size: 10, ..Default::default() }).await;
    assert_eq!(page.unwrap().total, 1);
}

/// Commits of different tasks never conflict.
pub async fn commits_of_different_tasks_do_not_conflict<F: StoreFixture>(fixture: F) {
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
    let query = ListQuery { page_size: 100, state: Some(TaskState::Completed), ..Default::default() };
    let page = store.list(&nuncio_model::Scope::open(), &query).await.unwrap();
    assert_eq!(page.total, 200);
    let times: Vec<Option<Timestamp>> = page.tasks.iter().map(|task| task.status.timestamp).collect();
    assert_eq!(times, (100..200).rev().map(|number| Some(at(1000 + number))).collect::<Vec<_>>());
}

/// A reader sees the task before or after a commit, and never an older state than before.
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
        assert_eq!(own.sequence, task.sequence(), "a committed record can be read");
    }
    task.set(&*store, TaskState::Completed, at(1)).await;
    for reader in readers {
        assert!(reader.await.unwrap() > 0);
    }
    task.assert_stored(&*store).await;
}

/// Creates eight tasks of a context.
async fn eight(store: &impl TaskStore) -> Vec<Writer> {
    let mut tasks: Vec<Writer> =
        (0..8).map(|number| Writer::new(&format!("task {number}")).in_context("shared")).collect();
    for task in &mut tasks {
        task.run(store).await;
    }
    tasks
}

/// A list contains and counts every task, even if a task moves to the front while the list is read.
pub async fn lists_contain_tasks_that_move<F: StoreFixture>(fixture: F) {
    let store = Arc::new(fixture.open().await);
    let mut tasks = eight(&*store).await;
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = [None, Some("shared".into())]
        .into_iter()
        .map(|context| {
            let (store, done) = (Arc::clone(&store), Arc::clone(&done));
            let query = ListQuery { context, page_size: 10, ..Default::default() };
            tokio::spawn(async move {
                loop {
                    let is_last = done.load(Ordering::Acquire);
                    let page = store.list(&nuncio_model::Scope::open(), &query).await.unwrap();
                    let ids: HashSet<_> = page.tasks.iter().map(|task| &task.id).collect();
                    assert_eq!((ids.len(), page.tasks.len(), page.total, page.next), (8, 8, 8, None));
                    let times = page.tasks.iter().map(|task| task.status.timestamp);
                    assert!(times.is_sorted_by(|one, other| one >= other), "newest first");
                    if is_last {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for time in 1..100 {
        for (number, task) in (0..).zip(&mut tasks) {
            task.set(&*store, TaskState::Working, at(time * 8 + number)).await;
        }
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::Release);
    for reader in readers {
        reader.await.unwrap();
    }
}

/// The total of a page is consistent with the tasks of the page, even if the page is not the last.
pub async fn the_total_matches_the_page<F: StoreFixture>(fixture: F) {
    let store = Arc::new(fixture.open().await);
    let mut tasks = eight(&*store).await;
    let done = Arc::new(AtomicBool::new(false));
    let working = Some(TaskState::Working);
    let readers: Vec<_> =
        [(None, None), (None, Some("shared".into())), (working, None), (working, Some("shared".into()))]
            .into_iter()
            .map(|(state, context)| {
                let (store, done) = (Arc::clone(&store), Arc::clone(&done));
                let query = ListQuery { state, context, page_size: 3, ..Default::default() };
                tokio::spawn(async move {
                    loop {
                        let is_last = done.load(Ordering::Acquire);
                        let page = store.list(&nuncio_model::Scope::open(), &query).await.unwrap();
                        let found = page.tasks.len() + usize::from(page.next.is_some());
                        assert!(page.total >= found, "{} of {found}", page.total);
                        assert!(state.is_some() || (found, page.total) == (4, 8), "{found}, {}", page.total);
                        if is_last {
                            break;
                        }
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
    // All tasks alternate between working and input required.
    for time in 1..50 {
        let state = if time % 2 == 1 { TaskState::Working } else { TaskState::InputRequired };
        for (number, task) in (0..).zip(&mut tasks) {
            task.stage(status(state, at(time * 8 + number)));
            task.run(&*store).await;
        }
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::Release);
    for reader in readers {
        reader.await.unwrap();
    }
}
