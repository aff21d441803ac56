//! Implements the engine's store: each call is a read, or a write that is queued.

use async_trait::async_trait;
use nuncio_engine::{
    Record, StoreError, TaskStore,
    store::{
        AtWorkPage, Claim, Commit, Committed, DuePush, Erase, ListPage, ListQuery, Orphan, Portion, Purge, PushConfig,
        PushSettlement, ScanPage, Stored,
    },
};
use nuncio_model::{MessageId, PushConfigId, Scope, TaskId, TaskState, Timestamp};
use rusqlite::OptionalExtension as _;

use super::{
    SqliteStore,
    append::{Append, ConfigRow},
    error::store_error,
    queue::{WriteOp, WriteOutput},
    read::{
        events, list, messages, pushes,
        task::{self, RowLoad},
        upkeep, work,
    },
};

#[async_trait]
impl TaskStore for SqliteStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let append = Append::write(commit, &self.offload).await?;
        match self.queue.write(WriteOp::Append(append)).await? {
            WriteOutput::Committed(committed) => Ok(committed),
            _ => Err(StoreError::Conflict),
        }
    }

    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        if let Some(stored) = self.cache.find(scope, id) {
            return Ok(Some(stored));
        }
        let ticket = self.cache.ticket(id);
        match self.short_reads.read(|connection| task::load_from_row(connection, scope, id).ok()) {
            Some(RowLoad::Missing) => return Ok(None),
            Some(RowLoad::Whole(loaded)) => {
                self.cache.fill(&ticket, scope, &loaded.stored, loaded.json);
                return Ok(Some(loaded.stored));
            }
            Some(RowLoad::Part) | None => {}
        }
        let (scope, id, cache) = (scope.clone(), id.clone(), self.cache.clone());
        self.readers
            .read(move |connection| {
                cache.find_or_read(&scope, &id, || {
                    let Some(loaded) = task::load(connection, &scope, &id)? else { return Ok(None) };
                    cache.fill(&ticket, &scope, &loaded.stored, loaded.json);
                    Ok(Some(loaded.stored))
                })
            })
            .await
    }

    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError> {
        // The writer thread executes the claim after all queued writes of an earlier runner.
        let done = self.queue.write(WriteOp::Claim { scope: scope.clone(), id: id.clone() }).await?;
        let WriteOutput::Claimed(abandoned) = done else { return Ok(None) };
        let owned = |stored| Claim::Owned { stored, abandoned, commands: Vec::new() };
        Ok(self.load(scope, id).await?.map(owned))
    }

    async fn sequences(&self, tasks: &[(Scope, TaskId)]) -> Result<Vec<Option<u64>>, StoreError> {
        let tasks = tasks.to_vec();
        self.readers.read(move |connection| task::sequences(connection, &tasks)).await
    }

    async fn events_after(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        let (scope, id) = (scope.clone(), id.clone());
        self.readers.read(move |connection| events::after(connection, &scope, &id, after, portion)).await
    }

    async fn task_of_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        since: Timestamp,
    ) -> Result<Option<TaskId>, StoreError> {
        let (scope, message) = (scope.clone(), message.clone());
        self.readers.read(move |connection| messages::task_of(connection, &scope, &message, since)).await
    }

    fn first_epoch(&self) -> u64 {
        self.epoch
    }

    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError> {
        self.forget_before(before).await
    }

    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
        let token = query.place()?;
        let (scope, query, cache) = (scope.clone(), query.clone(), self.cache.clone());
        self.readers.read(move |connection| list::list(connection, &cache, &scope, &query, token.as_ref())).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let epoch = self.epoch;
        self.readers.read(move |connection| work::orphans(connection, epoch, limit)).await
    }

    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError> {
        let after = after.map_or(Ok(0), str::parse).map_err(|_| StoreError::BadPageToken)?;
        let epoch = self.epoch;
        self.readers.read(move |connection| work::at_work(connection, epoch, after, limit)).await
    }

    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError> {
        let PushConfig { config, format, delivered } = config;
        let task = config.task_id.clone().unwrap_or_default();
        let config = ConfigRow::new(&config, format)?;
        self.write(WriteOp::PutConfig { scope: scope.clone(), task, config, delivered }).await
    }

    async fn push_configs(&self, scope: &Scope, task: &TaskId) -> Result<Option<Vec<PushConfig>>, StoreError> {
        let (scope, task) = (scope.clone(), task.clone());
        self.readers.read(move |connection| pushes::configs(connection, &scope, &task)).await
    }

    async fn delete_push_config(&self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError> {
        self.write(WriteOp::DeleteConfig { scope: scope.clone(), task: task.clone(), id: id.clone() }).await
    }

    async fn due_pushes(&self, now: Timestamp, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        self.readers.read(move |connection| pushes::due(connection, now, limit)).await
    }

    async fn next_push(&self) -> Result<Option<Timestamp>, StoreError> {
        self.readers.read(pushes::next).await
    }

    async fn settle_push(&self, settlement: PushSettlement) -> Result<(), StoreError> {
        self.write(WriteOp::Settle(Box::new(settlement))).await.map(|_| ())
    }

    async fn purge(&self, purge: &Purge) -> Result<usize, StoreError> {
        self.delete_old(purge).await
    }

    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let states = states.to_vec();
        self.readers.read(move |connection| upkeep::resting(connection, &states, before, limit)).await
    }

    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError> {
        self.delete_all(erase).await
    }

    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
        let after = after.map_or(Ok(0), str::parse).map_err(|_| StoreError::BadPageToken)?;
        self.readers.read(move |connection| upkeep::scan(connection, after, limit)).await
    }

    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.drop_logs(before, limit).await
    }

    async fn belongs_to(&self, agent: &str, adopt: bool) -> Result<Option<String>, StoreError> {
        let noted = self.agent().await?;
        if noted.as_deref() == Some(agent) {
            return Ok(None);
        }
        if noted.is_some() && !adopt && self.count().await? > 0 {
            return Ok(noted);
        }
        self.write(WriteOp::Serve(agent.to_owned())).await.map(|_| None)
    }

    /// Reads. If the last write failed, also writes, to find out whether writing works again.
    async fn check(&self) -> Result<(), StoreError> {
        let are_there = self.files.check();
        let read = self.readers.read(move |connection| {
            are_there()?;
            let one = connection.query_row("SELECT one FROM store", [], |row| row.get::<_, i64>(0)).optional();
            one.map(|_| ()).map_err(store_error)
        });
        read.await?;
        if self.is_failing() {
            self.write(WriteOp::Probe).await?;
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.stop_reading();
        self.write(WriteOp::Close).await.map(|_| ())
    }
}
