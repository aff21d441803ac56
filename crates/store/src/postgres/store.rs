//! Implements the engine's store: each call is one statement, or a commit that is queued.

use async_trait::async_trait;
use nuncio_engine::{
    Record, StoreError, TaskStore,
    store::{
        AtWorkPage, Claim, Cluster, Commit, Committed, DuePush, Erase, ListPage, ListQuery, Orphan, Portion, Purge,
        PushConfig, PushSettlement, ScanPage, Stored,
    },
};
use nuncio_model::{MessageId, PushConfigId, Scope, TaskId, TaskState, Timestamp};
use tokio::time::Instant;

use super::{
    PostgresStore,
    cluster::commands,
    committer::{Claimed, Done, Op},
    error::unavailable,
    housekeeping, messages, pushes, read,
    statements::Sql,
    text::{from_column, to_column},
    work,
};
use crate::{append::Append, columns};

#[async_trait]
impl TaskStore for PostgresStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        let node = self.node.at_work()?;
        let remember = commit.remember.clone().map(|remember| (commit.scope.clone(), remember));
        let begun = Timestamp::now();
        if let (Some((_, remember)), Some(upkeep)) = (&remember, &self.upkeep) {
            // Must precede the commit: an earlier call with a clock that was ahead could otherwise delete the message
            // ids of this commit.
            upkeep.forget_before(remember.since.min(begun), begun);
        }
        if let Some(upkeep) = self.upkeep.as_ref().filter(|_| commit.expected == 0 || commit.released) {
            upkeep.counted(&commit.scope);
        }
        let append = Append::write(commit, &self.offload).await?;
        match (self.committer.write(Op::Append(append, node)).await?, remember) {
            (Done::Committed(committed), _) => Ok(committed),
            (Done::Duplicate, Some((scope, remember))) => {
                Err(messages::duplicate(&self.links, &scope, &remember).await?)
            }
            _ => Err(StoreError::Conflict),
        }
    }

    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        self.known(id).await?;
        read::load(&self.links, scope, id).await
    }

    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError> {
        let node = self.node.at_work()?;
        let claiming = self.node.claiming(scope, id);
        let op = Op::Claim { scope: scope.clone(), id: id.clone(), node };
        let claimed = match self.committer.write(op).await? {
            Done::Claimed(claimed) => claimed,
            Done::Committed(_) | Done::Duplicate | Done::Nothing => return Err(StoreError::Conflict),
        };
        let claim = match claimed {
            None => None,
            Some(Claimed::Held(node)) => Some(Claim::Held(node)),
            Some(Claimed::NoLease) => {
                claiming.known();
                return Err(unavailable("this node has no valid lease until the lease is renewed"));
            }
            Some(Claimed::Owned { abandoned, epoch }) => {
                let stored = read::load(&self.links, scope, id).await?;
                // This node may have been suspended for longer than its lease. If the epoch differs, the task belongs
                // to another node.
                if stored.as_ref().is_some_and(|stored| stored.epoch != epoch) {
                    claiming.known();
                    return Err(unavailable("another node has claimed the task"));
                }
                let waiting = self.links.query(Sql::PendingOfTask, &[&&*to_column(id.as_str())]).await?;
                let commands = commands(&waiting)?;
                stored.map(|stored| Claim::Owned { stored, abandoned, commands })
            }
        };
        claiming.known();
        Ok(claim)
    }

    async fn sequences(&self, tasks: &[(Scope, TaskId)]) -> Result<Vec<Option<u64>>, StoreError> {
        read::sequences(&self.links, tasks).await
    }

    async fn events_after(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        read::events(&self.links, scope, id, after, portion).await
    }

    async fn task_of_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        since: Timestamp,
    ) -> Result<Option<TaskId>, StoreError> {
        messages::task_of(&self.links, scope, message, since).await
    }

    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError> {
        if let Some(upkeep) = &self.upkeep {
            upkeep.forget_before(before, Timestamp::now());
            upkeep.hurry();
            return Ok(());
        }
        while self.chores.forget_messages(before.as_millisecond()).await? {}
        Ok(())
    }

    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
        read::list(&self.links, scope, query).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let longest_call = self.connector.options.longest_call();
        work::orphans(&self.links, &self.node, limit, self.connector.options.lease, longest_call).await
    }

    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError> {
        work::at_work(&self.links, self.node.id(), after, limit).await
    }

    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError> {
        pushes::put(&self.links, scope, config).await
    }

    async fn push_configs(&self, scope: &Scope, task: &TaskId) -> Result<Option<Vec<PushConfig>>, StoreError> {
        pushes::configs(&self.links, scope, task).await
    }

    async fn delete_push_config(&self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError> {
        pushes::delete(&self.links, scope, task, id).await
    }

    async fn due_pushes(&self, now: Timestamp, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        pushes::due(&self.links, now, limit, self.node.at_work()?, self.connector.options.push_claim.as_secs_f64())
            .await
    }

    async fn next_push(&self) -> Result<Option<Timestamp>, StoreError> {
        pushes::next(&self.links, self.node.id()).await
    }

    async fn settle_push(&self, settlement: PushSettlement) -> Result<(), StoreError> {
        let claim = self.connector.options.push_claim.as_secs_f64();
        pushes::settle(&self.links, settlement, self.node.at_work()?, claim).await
    }

    async fn purge(&self, purge: &Purge) -> Result<usize, StoreError> {
        super::purge::purge(&self.connector, &self.chores, purge).await
    }

    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        housekeeping::resting(self.chores.links(), states, before, limit).await
    }

    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError> {
        super::erase::erase(&self.connector, &self.chores, erase).await
    }

    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
        housekeeping::scan(&self.links, after, limit).await
    }

    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        housekeeping::compact(&self.chores, before, limit).await
    }

    /// The time of the server's clock.
    async fn now(&self) -> Result<Timestamp, StoreError> {
        read::now(self.chores.links()).await
    }

    async fn belongs_to(&self, agent: &str, adopt: bool) -> Result<Option<String>, StoreError> {
        let rows = self.links.query(Sql::Agent, &[]).await?;
        let noted = rows
            .first()
            .map_or(Ok(None), |row| read::value::<Option<&str>>(row, 0))?
            .map(|noted| from_column(noted).into_owned());
        if noted.as_deref() == Some(agent) {
            return Ok(None);
        }
        let changed = self.links.query(Sql::Belong, &[&&*to_column(agent), &adopt]).await?;
        Ok(if changed.is_empty() { noted } else { None })
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }

    /// Reads. If the last write failed, also writes, to find out whether writing works again.
    async fn check(&self) -> Result<(), StoreError> {
        self.vital.query(Sql::Check, &[]).await?;
        if self.committer.is_failing() {
            self.committer.write(Op::Probe).await?;
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), StoreError> {
        if self.node.is_none() {
            return Ok(());
        }
        self.committer.write(Op::Close).await?;
        self.vital.query(Sql::Leave, &[&columns::to_column(self.node.id().0)]).await.map(|_| ())
    }
}

impl PostgresStore {
    /// Waits until the outcome of the last commit to a task is known.
    async fn known(&self, id: &TaskId) -> Result<(), StoreError> {
        self.committer.doubt().settled(id, Instant::now() + self.connector.options.wait_timeout).await
    }
}
