//! The test suite of stores for the store in memory.

use std::sync::Arc;

use async_trait::async_trait;
use nuncio_engine::{
    MemoryStore, Record, StoreError, TaskStore,
    store::{Commit, ListQuery, Portion, PushConfig},
};
use nuncio_model::{
    Artifact, Part, Scope, StreamResponse, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskState,
    Timestamp,
};
use nuncio_suites::StoreFixture;

struct InMemory;

#[async_trait]
impl StoreFixture for InMemory {
    type Store = MemoryStore;
    const DURABLE: bool = false;

    fn new() -> Self {
        Self
    }

    async fn open(&self) -> MemoryStore {
        MemoryStore::new()
    }
}

nuncio_suites::store_suite!(InMemory);
nuncio_suites::race_suite!(InMemory);

pub(crate) fn create(id: &str, state: TaskState) -> Commit {
    let mut task = Task::new(id.into(), format!("context of {id}").into());
    task.status.state = state;
    Commit {
        scope: Scope::open(),
        id: task.id.clone(),
        context: task.context_id.clone().unwrap(),
        expected: 0,
        epoch: 0,
        records: vec![Record::update(1, StreamResponse::Task(task.clone()))],
        state,
        updated: task.status.timestamp.unwrap(),
        released: state != TaskState::Working,
        snapshot: Some(Arc::new(task)),
        push_configs: Vec::new(),
        acks: Vec::new(),
        remember: None,
    }
}

fn chunk(id: &str, expected: u64) -> Commit {
    let update = TaskArtifactUpdateEvent {
        artifact: Artifact::new("a", vec![Part::text("x")]),
        append: true,
        ..Default::default()
    };
    let records = vec![Record::update(expected + 1, StreamResponse::ArtifactUpdate(update))];
    Commit { expected, epoch: 1, records, snapshot: None, ..create(id, TaskState::Working) }
}

async fn ids(store: &MemoryStore) -> Vec<String> {
    let query = ListQuery { page_size: 100, ..ListQuery::default() };
    let page = store.list(&Scope::open(), &query).await.unwrap();
    assert_eq!(page.total, page.tasks.len());
    let mut ids: Vec<_> = page.tasks.iter().map(|task| task.id.to_string()).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn eviction_starts_with_the_first_ended_then_the_first_interrupted_task() {
    let store = MemoryStore::builder().max_tasks(Some(4)).build();
    let scope = Scope::open();
    store.commit(create("running", TaskState::Working)).await.unwrap();
    let mut pending = create("pending", TaskState::Completed);
    let config =
        TaskPushNotificationConfig { id: Some("p".into()), task_id: Some("pending".into()), ..Default::default() };
    pending.push_configs.push(PushConfig { config, format: None, delivered: 0 });
    store.commit(pending).await.unwrap();
    store.commit(create("parked 1", TaskState::InputRequired)).await.unwrap();
    store.commit(create("ended 1", TaskState::Completed)).await.unwrap();
    store.commit(create("ended 2", TaskState::Failed)).await.unwrap();
    assert_eq!(ids(&store).await, ["ended 2", "parked 1", "pending", "running"]);
    assert!(store.load(&scope, &"ended 1".into()).await.unwrap().is_none());
    store.commit(create("parked 2", TaskState::InputRequired)).await.unwrap();
    assert_eq!(ids(&store).await, ["parked 1", "parked 2", "pending", "running"]);
    store.commit(create("parked 3", TaskState::InputRequired)).await.unwrap();
    assert_eq!(ids(&store).await, ["parked 2", "parked 3", "pending", "running"]);
    let query = ListQuery { context: Some("context of parked 1".into()), page_size: 1, ..ListQuery::default() };
    assert_eq!(store.list(&scope, &query).await.unwrap().total, 0);
    assert!(matches!(store.commit(chunk("parked 1", 1)).await, Err(StoreError::Conflict)));
    store.commit(create("parked 1", TaskState::Working)).await.unwrap();
    assert_eq!(ids(&store).await, ["parked 1", "parked 3", "pending", "running"]);
}

#[tokio::test]
async fn a_long_log_loses_its_oldest_records_and_the_task_stays_complete() {
    let store = MemoryStore::builder().log_limit(10).build();
    let scope = Scope::open();
    store.commit(create("t", TaskState::Working)).await.unwrap();
    for sequence in 1..100 {
        store.commit(chunk("t", sequence)).await.unwrap();
    }
    let records = store.events_after(&scope, &"t".into(), 90, Portion::records(100)).await.unwrap();
    assert_eq!(records.iter().map(Record::sequence).collect::<Vec<_>>(), (91..=100).collect::<Vec<_>>());
    assert!(matches!(
        store.events_after(&scope, &"t".into(), 89, Portion::records(1)).await,
        Err(StoreError::Compacted)
    ));
    let stored = store.load(&scope, &"t".into()).await.unwrap().unwrap();
    assert_eq!((stored.sequence, stored.task.artifacts[0].parts.len()), (100, 99));
}

/// A task that waits uses memory, so the limit applies to such tasks, too.
#[tokio::test]
async fn old_logs_of_interrupted_tasks_are_dropped() {
    let store = MemoryStore::new();
    store.commit(create("waits", TaskState::InputRequired)).await.unwrap();
    store.commit(create("at work", TaskState::Working)).await.unwrap();
    let later = Timestamp::from_millisecond(Timestamp::now().as_millisecond() + 1_000).unwrap();
    assert_eq!(store.compact(later, 10).await.unwrap(), 1);
    let log = store.events_after(&Scope::open(), &"waits".into(), 0, Portion::records(10)).await;
    assert!(matches!(log, Err(StoreError::Compacted)), "{log:?}");
    assert_eq!(
        store.load(&Scope::open(), &"waits".into()).await.unwrap().unwrap().task.state(),
        TaskState::InputRequired
    );
    assert_eq!(store.events_after(&Scope::open(), &"at work".into(), 0, Portion::records(10)).await.unwrap().len(), 1);
    assert_eq!(store.compact(later, 10).await.unwrap(), 0);
}

#[tokio::test]
async fn logs_of_ended_tasks_are_dropped_unless_they_are_kept() {
    for keep_log in [false, true] {
        let store = MemoryStore::builder().keep_log(keep_log).build();
        store.commit(create("at once", TaskState::Completed)).await.unwrap();
        store.commit(create("t", TaskState::Working)).await.unwrap();
        store.commit(Commit { released: true, state: TaskState::Failed, ..chunk("t", 1) }).await.unwrap();
        for (id, records) in [("at once", 1), ("t", 2)] {
            match store.events_after(&Scope::open(), &id.into(), 0, Portion::records(10)).await {
                Ok(log) => assert!(keep_log && log.len() == records, "{log:?}"),
                Err(error) => assert!(!keep_log && matches!(error, StoreError::Compacted), "{error:?}"),
            }
        }
    }
}
