//! Commits and a temporary database for tests.

use std::{path::PathBuf, sync::Arc};

use nuncio_engine::{
    Record, StoreError, TaskStore,
    store::{Commit, Committed, Stored},
};
use nuncio_model::{
    Artifact, ContextId, Message, Part, Scope, StreamResponse, Task, TaskArtifactUpdateEvent, TaskId, TaskState,
    TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use nuncio_store::{OpenError, SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// A temporary directory with a database.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("tasks.db")
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        self.try_open(SqliteOptions::default()).await.unwrap()
    }

    pub(crate) async fn try_open(&self, options: SqliteOptions) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(self.path(), options).await
    }

    /// Opens the database directly with SQLite.
    pub(crate) fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_769_860_800_000 + second * 1_000).unwrap()
}

/// A new task in this state.
pub(crate) fn task(id: &str, state: TaskState) -> Task {
    let mut task = Task::new(id.into(), "context".into());
    task.status = TaskStatus { state, message: None, timestamp: Some(at(0)) };
    task.history.push(Message { message_id: "m".into(), ..Message::user("hello") });
    task
}

/// Creates a task. The task is released unless its state is `Working`.
pub(crate) fn create(task: &Task) -> Commit {
    Commit {
        scope: Scope::open(),
        id: task.id.clone(),
        context: task.context_id.clone().unwrap_or_else(|| ContextId::new("")),
        expected: 0,
        epoch: 0,
        records: vec![Record::update(1, StreamResponse::Task(task.clone()))],
        state: task.state(),
        updated: task.status.timestamp.unwrap(),
        released: task.state() != TaskState::Working,
        snapshot: Some(Arc::new(task.clone())),
        push_configs: Vec::new(),
        acks: Vec::new(),
        remember: None,
    }
}

/// Creates a running task.
pub(crate) async fn begin(store: &SqliteStore, id: &str) -> Committed {
    store.commit(create(&task(id, TaskState::Working))).await.unwrap()
}

/// Appends a piece of text to the artifact `a`.
pub(crate) fn chunk(id: &str, expected: u64, epoch: u64, text: &str) -> Commit {
    let update = TaskArtifactUpdateEvent {
        task_id: id.into(),
        context_id: "context".into(),
        artifact: Artifact::new("a", vec![Part::text(text)]),
        append: true,
        ..Default::default()
    };
    Commit {
        expected,
        epoch,
        records: vec![Record::update(expected + 1, StreamResponse::ArtifactUpdate(update))],
        snapshot: None,
        ..create(&task(id, TaskState::Working))
    }
}

/// Ends a task. The snapshot is the stored task with the new status.
pub(crate) async fn end(store: &SqliteStore, id: &str) -> Result<Committed, StoreError> {
    let stored = load(store, id).await;
    let status = TaskStatus { state: TaskState::Completed, message: None, timestamp: Some(at(9)) };
    let mut ended = Task::clone(&stored.task);
    ended.status = status.clone();
    let update = TaskStatusUpdateEvent { task_id: id.into(), context_id: "context".into(), status, metadata: None };
    let commit = Commit {
        expected: stored.sequence,
        epoch: stored.epoch,
        records: vec![Record::update(stored.sequence + 1, StreamResponse::StatusUpdate(update))],
        ..create(&ended)
    };
    store.commit(commit).await
}

pub(crate) async fn load(store: &SqliteStore, id: &str) -> Stored {
    store.load(&Scope::open(), &TaskId::from(id)).await.unwrap().unwrap()
}
