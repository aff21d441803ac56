//! Push configurations, and a store that can be told to fail.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use nuncio_engine::{
    MemoryStore, PushGuard, Record, StoreError, TaskStore,
    store::{Commit, Committed, DuePush, ListPage, ListQuery, Orphan, PushConfig, PushSettlement, Stored},
};
use nuncio_model::{
    AuthenticationInfo, Error, ErrorKind, Message, PushConfigId, Reply, Scope, TaskId, TaskPushNotificationConfig,
    Timestamp,
    op::{
        DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, SendMessageConfiguration, SendMessageRequest,
    },
};

use crate::support::*;

struct Anywhere;

#[async_trait]
impl PushGuard for Anywhere {
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<(), Error> {
        if config.url.starts_with("https:") { Ok(()) } else { Err(Error::invalid_params("url", "must be https")) }
    }
}

fn engine_that_pushes() -> nuncio_engine::Engine {
    builder(|turn| async move { turn.complete("done").await }).push_guard(Arc::new(Anywhere)).build()
}

fn config(task: &nuncio_model::Task) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: Some(task.id.clone()),
        url: "https://example.com/hook".to_owned(),
        token: Some("t0ken".to_owned()),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: Some("s3cret".to_owned()),
        }),
        ..Default::default()
    }
}

#[tokio::test]
async fn configurations_are_made_read_listed_and_deleted() {
    let engine = engine_that_pushes();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let Reply::PushConfig(made) = call(&engine, config(&task)).await.unwrap() else { panic!() };
        ids.push(made.id.unwrap());
    }
    assert_ne!(ids[0], ids[1]);
    let get = |id: &PushConfigId| GetTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: id.clone(),
        ..Default::default()
    };
    let Reply::PushConfig(read) = call(&engine, get(&ids[0])).await.unwrap() else { panic!() };
    assert_eq!((read.token, read.authentication.unwrap().credentials), (None, None));
    let list = ListTaskPushNotificationConfigsRequest { task_id: task.id.clone(), page_size: 1, ..Default::default() };
    let Reply::PushConfigs(page) = call(&engine, list.clone()).await.unwrap() else { panic!() };
    assert_eq!(page.configs.len(), 1);
    let list = ListTaskPushNotificationConfigsRequest { page_token: Some(page.next_page_token), ..list };
    let Reply::PushConfigs(page) = call(&engine, list).await.unwrap() else { panic!() };
    assert_eq!((page.configs.len(), &*page.next_page_token), (1, ""));
    for _ in 0..2 {
        let delete = DeleteTaskPushNotificationConfigRequest {
            task_id: task.id.clone(),
            id: ids[0].clone(),
            ..Default::default()
        };
        assert!(matches!(call(&engine, delete).await.unwrap(), Reply::Deleted));
    }
    let error = call(&engine, get(&ids[0])).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn the_guard_decides_also_inside_a_message() {
    let engine = engine_that_pushes();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let inside = TaskPushNotificationConfig { url: "http://x".to_owned(), ..config(&task) };
    let error = call(&engine, inside.clone()).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    let configuration = SendMessageConfiguration { task_push_notification_config: Some(inside), ..Default::default() };
    let request = SendMessageRequest::new(Message::user("x")).with_configuration(configuration);
    assert_eq!(send(&engine, request).await.unwrap_err().kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn a_configuration_inside_a_message_is_owed_the_first_event() {
    let engine = engine_that_pushes();
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(TaskPushNotificationConfig {
            url: "https://example.com/hook".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let request = SendMessageRequest::new(Message::user("x")).with_configuration(configuration);
    let task = send(&engine, request).await.unwrap();
    within(engine.push_wakeups().notified()).await;
    let due = engine.store().due_pushes(Timestamp::now(), 10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].delivered, due[0].owed), (0, 2));
    assert_eq!(due[0].config.task_id.as_ref(), Some(&task.id));
    let records = engine.store().events_after(&Scope::open(), &task.id, 0, 10).await.unwrap();
    assert_eq!(records.iter().map(Record::sequence).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn an_agent_that_does_not_push_says_so_before_it_looks_at_the_task() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let missing = TaskPushNotificationConfig {
        task_id: Some("nope".into()),
        url: "https://example.com".to_owned(),
        ..Default::default()
    };
    let error = call(&engine, missing).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PushNotificationNotSupported);
}

/// A store in memory that can be full.
#[derive(Default)]
pub(crate) struct Faulty {
    inner: MemoryStore,
    pub(crate) full: AtomicBool,
}

#[async_trait]
impl TaskStore for Faulty {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        if self.full.load(Ordering::Acquire) {
            return Err(StoreError::Full("no room".into()));
        }
        self.inner.commit(commit).await
    }
    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        self.inner.load(scope, id).await
    }
    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        self.inner.claim(scope, id).await
    }
    async fn events_after(&self, s: &Scope, id: &TaskId, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.inner.events_after(s, id, after, limit).await
    }
    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.inner.list(scope, query).await
    }
    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.inner.orphans(limit).await
    }
    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError> {
        self.inner.put_push_config(scope, config).await
    }
    async fn push_configs(&self, scope: &Scope, task: &TaskId) -> Result<Option<Vec<PushConfig>>, StoreError> {
        self.inner.push_configs(scope, task).await
    }
    async fn delete_push_config(&self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError> {
        self.inner.delete_push_config(scope, task, id).await
    }
    async fn due_pushes(&self, now: Timestamp, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        self.inner.due_pushes(now, limit).await
    }
    async fn next_push(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_push().await
    }
    async fn settle_push(&self, settlement: PushSettlement) -> Result<(), StoreError> {
        self.inner.settle_push(settlement).await
    }
    async fn check(&self) -> Result<(), StoreError> {
        self.inner.check().await
    }
    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}
