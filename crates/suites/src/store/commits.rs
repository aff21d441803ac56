//! Commits: the result, and the conflicts.

use std::sync::Arc;

use nuncio_engine::store::{Portion, StoreError, TaskStore};
use nuncio_model::{Message, Scope, TaskState, TaskStatus};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk, claim, status},
};

/// A new task can be loaded, and has no pending push.
pub async fn creates_a_task<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    assert!(store.load(&Scope::open(), &"t".into()).await.unwrap().is_none());
    assert!(store.claim(&Scope::open(), &"t".into()).await.unwrap().is_none());
    let mut task = Writer::new("t");
    let committed = task.run(&store).await;
    assert!(!committed.has_pending_push);
    assert_eq!(committed.epoch, store.first_epoch());
    task.assert_stored(&store).await;
    let claimed = claim(&store, &task).await;
    assert_eq!((claimed.task, claimed.sequence), (Arc::new(task.task.clone()), 1));
    assert_eq!(claimed.epoch, committed.epoch, "a claim by the owner changes nothing");
}

/// The commit that creates a task can also end the task.
pub async fn creates_a_task_that_has_ended<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t").in_state(TaskState::Completed, at(1));
    task.create_ended(&store).await;
    task.assert_stored(&store).await;
}

/// A second commit that creates the task conflicts, in any scope, and changes nothing.
pub async fn a_task_is_created_once<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    let other_scope = Scope::new("tenant".into(), nuncio_model::Principal::named("somebody"));
    for scope in [Scope::open(), other_scope] {
        let mut again = Writer::new("t").in_scope(&scope).in_context("another");
        assert!(matches!(again.commit(&store, true, true).await, Err(StoreError::Conflict)));
    }
    task.assert_stored(&store).await;
}

/// Records are appended in batches of any size, with or without a snapshot.
pub async fn appends_records<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    task.set(&store, TaskState::Working, at(1)).await;
    task.assert_stored(&store).await;
    for (round, snapshot) in [false, true, false, false].into_iter().enumerate() {
        for number in 0..=round {
            task.stage(chunk(&format!("{round}.{number} ")));
        }
        task.commit(&store, false, snapshot).await.unwrap();
        task.assert_stored(&store).await;
    }
    task.stage_received(Message::user("and another thing"));
    task.run(&store).await;
    task.assert_stored(&store).await;
    task.set(&store, TaskState::Completed, at(2)).await;
    task.assert_stored(&store).await;
}

/// A commit at another position than the end of the log, or for a missing task, conflicts and writes nothing.
pub async fn a_commit_at_a_wrong_position_conflicts<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    task.set(&store, TaskState::Working, at(1)).await;
    let mut ahead = task.clone();
    ahead.stage(chunk("x"));
    for expected in [1, 3, 100] {
        let commit = nuncio_engine::store::Commit { expected, ..ahead.next_commit(false, true) };
        assert!(matches!(store.commit(commit).await, Err(StoreError::Conflict)), "{expected}");
    }
    let nobodys = nuncio_engine::store::Commit { id: "nobody".into(), ..ahead.next_commit(false, true) };
    assert!(matches!(store.commit(nobodys).await, Err(StoreError::Conflict)));
    task.assert_stored(&store).await;
    assert_eq!(store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await.unwrap(), task.log);
}

/// A commit under another epoch conflicts and writes nothing.
pub async fn a_commit_under_another_epoch_conflicts<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    for epoch in [task.epoch + 1, task.epoch - 1, u64::MAX] {
        let mut other = Writer { epoch, ..task.clone() };
        other.stage(status(TaskState::Failed, at(1)));
        assert!(matches!(other.commit(&store, true, true).await, Err(StoreError::Conflict)), "{epoch}");
    }
    task.assert_stored(&store).await;
}

/// A commit without records can release a task, and can bring a snapshot.
pub async fn a_commit_without_records_releases_a_task<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    task.stage(status(TaskState::InputRequired, at(1)));
    task.run(&store).await;
    task.release(&store).await;
    task.assert_stored(&store).await;
    task.stage_received(Message::user("here it is"));
    task.run(&store).await;
    task.assert_stored(&store).await;
}

/// Snapshots are optional: without them the store folds the log.
pub async fn a_task_without_a_snapshot_is_folded<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.commit(&store, false, false).await.unwrap();
    task.assert_stored(&store).await;
    let question = TaskStatus { timestamp: Some(at(1)), ..TaskStatus::new(TaskState::InputRequired) };
    let question = question.with_message("which one?");
    task.stage(nuncio_model::StreamResponse::StatusUpdate(nuncio_model::TaskStatusUpdateEvent {
        status: question,
        ..Default::default()
    }));
    task.commit(&store, true, false).await.unwrap();
    task.assert_stored(&store).await;
    task.stage_received(Message::user("this one"));
    task.commit(&store, false, false).await.unwrap();
    task.stage(chunk("it is done"));
    task.stage(status(TaskState::Completed, at(2)));
    task.commit(&store, true, false).await.unwrap();
    task.assert_stored(&store).await;
}

/// Changing a loaded or committed task in memory does not change the store.
pub async fn changes_in_memory_do_not_reach_the_store<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    let mut given = task.load(&store).await.task;
    Arc::make_mut(&mut given).history.clear();
    task.stage(chunk("x"));
    task.run(&store).await;
    let before = task.load(&store).await.task;
    let copy = before.as_ref().clone();
    task.stage(chunk("y"));
    task.run(&store).await;
    task.assert_stored(&store).await;
    assert_eq!(*before, copy, "a loaded task does not change");
}

/// `check` succeeds until the store is closed.
pub async fn check_succeeds_until_close<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    store.check().await.unwrap();
    Writer::new("t").run(&store).await;
    store.check().await.unwrap();
    store.close().await.unwrap();
}
