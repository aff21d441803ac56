//! A store that panics, as one's own may.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use nuncio_engine::{
    MemoryStore, Record, StoreError, TaskStore,
    store::{
        AtWorkPage, Claim, Commit, Committed, DuePush, Erase, ListPage, ListQuery, Orphan, Portion, Purge, PushConfig,
        PushSettlement, ScanPage, Stored,
    },
};
use nuncio_model::{MessageId, PushConfigId, Scope, TaskId, TaskState, Timestamp};
use nuncio_push::Courier;

use crate::support::{AtWork, Webhook, config, engine, lenient, quick, send, until_settled};

/// Panics so often when events are read, as only the courier does here.
#[derive(Default)]
struct Panicking {
    inner: MemoryStore,
    panics: AtomicU32,
}

#[async_trait]
impl TaskStore for Panicking {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.inner.commit(commit).await
    }

    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        self.inner.load(scope, id).await
    }

    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError> {
        self.inner.claim(scope, id).await
    }

    async fn events_after(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        let next = self.panics.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        assert!(next.is_err(), "the store panics");
        self.inner.events_after(scope, id, after, portion).await
    }

    async fn task_of_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        since: Timestamp,
    ) -> Result<Option<TaskId>, StoreError> {
        self.inner.task_of_message(scope, message, since).await
    }

    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError> {
        self.inner.forget_messages(before).await
    }

    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.inner.list(scope, query).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.inner.orphans(limit).await
    }

    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError> {
        self.inner.at_work(after, limit).await
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

    async fn purge(&self, purge: &Purge) -> Result<usize, StoreError> {
        self.inner.purge(purge).await
    }

    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.inner.resting(states, before, limit).await
    }

    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError> {
        self.inner.erase(erase).await
    }

    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
        self.inner.scan(after, limit).await
    }

    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.inner.compact(before, limit).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.inner.check().await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}

#[tokio::test]
async fn a_delivery_that_panics_is_made_after_a_rest() {
    let panicking = Arc::new(Panicking { panics: 3.into(), ..Panicking::default() });
    let (store, webhook): (Arc<dyn TaskStore>, _) = (panicking.clone(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    send(&engine, "1", config(webhook.url("/"))).await;
    assert_eq!(panicking.panics.load(Ordering::Acquire), 3);
    let begin = Instant::now();
    let _courier = AtWork::start(Courier::builder(&engine, lenient()).retry(quick(1)));
    until_settled(&store).await;
    assert_eq!(webhook.now().len(), 3);
    assert!(begin.elapsed() >= Duration::from_millis(1500), "{:?}", begin.elapsed());
}
