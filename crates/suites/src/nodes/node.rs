//! A node of the shared store.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use nuncio_engine::{
    Record,
    store::{
        AtWork, AtWorkPage, Claim, Cluster, Command, CommandId, CommandStatus, Commit, Committed, DuePush, Enqueued,
        Erase, Lease, ListPage, ListQuery, NodeId, Orphan, Portion, Purge, PushConfig, PushSettlement, Report,
        ScanPage, StoreError, Stored, TaskStore,
    },
};
use nuncio_model::{MessageId, PushConfigId, Scope, TaskId, TaskState, Timestamp};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    SharedMemory,
    state::{Key, Owner, State, Waiting},
};

/// The epoch of every task in the underlying store. The shared state has the epochs of the nodes.
const BENEATH: u64 = 1;

/// The faults of a [`MemoryNode`].
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct MemoryFaults {
    /// `enqueue` stores the command and then fails.
    pub loses_answers_to_commands: bool,
    /// `enqueue` fails, and no command is stored.
    pub refuses_commands: bool,
    /// `report` fails.
    pub refuses_reports: bool,
    /// `commit` fails, and nothing is written.
    pub refuses_commits: bool,
    /// `commit` writes, and returns when this fault ends.
    pub hears_of_commits_late: bool,
    /// `load` reads, and returns when this fault ends.
    pub hears_of_tasks_late: bool,
    /// The next commit writes, and cuts the node off before the answer.
    pub cut_off_by_commit: bool,
    /// `task_of_message` does not return until this fault ends.
    pub hangs_at_messages: bool,
    /// The number of calls of `events_after` that panic.
    pub panics_at_logs: u32,
}

/// A node of a [`SharedMemory`].
pub struct MemoryNode {
    shared: SharedMemory,
    id: AtomicU64,
    cut_off: AtomicBool,
    silent: AtomicBool,
    stalled: watch::Sender<bool>,
    rejoined: AtomicBool,
    damaged: parking_lot::Mutex<HashSet<TaskId>>,
    faults: Mutex<MemoryFaults>,
    reads: AtomicUsize,
}

impl MemoryNode {
    pub(super) fn new(shared: SharedMemory, id: NodeId) -> Self {
        Self {
            shared,
            id: AtomicU64::new(id.0),
            cut_off: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            stalled: watch::Sender::new(false),
            rejoined: AtomicBool::new(false),
            damaged: parking_lot::Mutex::default(),
            faults: Mutex::default(),
            reads: AtomicUsize::new(0),
        }
    }

    /// Opens the same store as another node. The node's lease starts now.
    pub async fn beside(&self) -> Self {
        self.shared.node().await
    }

    /// Makes a task unreadable for this node, or readable again. An unreadable task is `Corrupt`.
    pub fn damage(&self, task: &TaskId, yes: bool) {
        let mut damaged = self.damaged.lock();
        if yes {
            damaged.insert(task.clone())
        } else {
            damaged.remove(task)
        };
    }

    /// Cuts the node off from the store, or connects the node again. While the node is cut off, every call fails with
    /// `Unavailable`.
    pub fn cut_off(&self, yes: bool) {
        self.cut_off.store(yes, Ordering::Relaxed);
    }

    /// Stops the renewals of the lease, while `renew` still reports success: a process that was suspended and
    /// continues.
    pub fn silence(&self, yes: bool) {
        self.silent.store(yes, Ordering::Relaxed);
    }

    /// Makes `renew` wait, until `stall(false)`.
    pub fn stall(&self, yes: bool) {
        self.stalled.send_replace(yes);
    }

    /// Changes the faults of the node.
    pub fn set(&self, change: impl FnOnce(&mut MemoryFaults)) {
        change(&mut self.faults.lock());
    }

    /// The number of reads of records and of commands.
    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Gives the node a new id, as after the end of a lease. The next renewal reports the loss.
    pub async fn rejoin(&self) {
        let id = self.shared.state.lock().await.join(self.shared.lease);
        self.id.store(id.0, Ordering::Relaxed);
        self.rejoined.store(true, Ordering::Relaxed);
    }

    fn me(&self) -> NodeId {
        NodeId(self.id.load(Ordering::Relaxed))
    }

    fn read(&self, id: &TaskId) -> Result<(), StoreError> {
        if self.damaged.lock().contains(id) {
            return Err(StoreError::Corrupt("the task is damaged".into()));
        }
        self.reach()
    }

    fn fails(&self, does: impl FnOnce(&MemoryFaults) -> bool) -> Result<(), StoreError> {
        if does(&self.faults.lock()) {
            return Err(StoreError::Unavailable("the node has a fault".into()));
        }
        Ok(())
    }

    async fn hears(&self, late: impl Fn(&MemoryFaults) -> bool) {
        while late(&self.faults.lock()) {
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn reach(&self) -> Result<(), StoreError> {
        if self.cut_off.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("the node is cut off".into()));
        }
        Ok(())
    }

    /// Removes the owners of tasks that no longer exist.
    async fn forget_owners(&self) -> Result<(), StoreError> {
        let mut state = self.shared.state.lock().await;
        let keys: Vec<_> = state.owners.keys().cloned().collect();
        for (scope, id) in keys {
            if self.shared.tasks.load(&scope, &id).await?.is_none() {
                state.owners.remove(&(scope, id));
            }
        }
        Ok(())
    }

    fn with_epoch(stored: Stored, owner: Option<&Owner>) -> Stored {
        Stored { epoch: owner.map_or(stored.epoch, |owner| owner.epoch), ..stored }
    }
}

#[async_trait]
impl TaskStore for MemoryNode {
    async fn commit(&self, mut commit: Commit) -> Result<Committed, StoreError> {
        self.reach()?;
        self.fails(|faults| faults.refuses_commits)?;
        let mut state = self.shared.state.lock().await;
        let key = (commit.scope.clone(), commit.id.clone());
        let creates = commit.expected == 0;
        let epoch = if creates { 1 } else { commit.epoch };
        if !creates && state.owners.get(&key).is_none_or(|owner| owner.epoch != epoch) {
            return Err(StoreError::Conflict);
        }
        let acks = std::mem::take(&mut commit.acks);
        // A commit does not change the owner of a task at work: a node that lost its lease has a new id, and owns
        // nothing.
        let before = state.owners.get(&key).copied();
        let owner = Owner {
            node: before.filter(|owner| owner.at_work).map_or_else(|| self.me(), |owner| owner.node),
            epoch,
            at_work: !commit.released,
            state: commit.state,
            sequence: commit.sequence(),
            number: before.map_or(state.owners.len(), |owner| owner.number),
        };
        commit.epoch = if creates { 0 } else { BENEATH };
        let committed = self.shared.tasks.commit(commit).await?;
        state.owners.insert(key, owner);
        for (id, sequence) in acks {
            if let Some(waiting) = state.commands.get_mut(&id) {
                waiting.status.acked = Some(sequence);
            }
        }
        if self.faults.lock().cut_off_by_commit {
            self.cut_off(true);
            self.reach()?;
        }
        drop(state);
        self.hears(|faults| faults.hears_of_commits_late).await;
        Ok(Committed { epoch, ..committed })
    }

    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        self.read(id)?;
        let state = self.shared.state.lock().await;
        let stored = self.shared.tasks.load(scope, id).await?;
        let stored = stored.map(|stored| Self::with_epoch(stored, state.owners.get(&(scope.clone(), id.clone()))));
        drop(state);
        self.hears(|faults| faults.hears_of_tasks_late).await;
        Ok(stored)
    }

    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError> {
        self.read(id)?;
        let mut state = self.shared.state.lock().await;
        let Some(stored) = self.shared.tasks.load(scope, id).await? else { return Ok(None) };
        let key = (scope.clone(), id.clone());
        let holder = state.holder(&key);
        let me = self.me();
        if let Some(other) = holder.filter(|holder| *holder != me) {
            return Ok(Some(Claim::Held(other)));
        }
        let mut abandoned = false;
        if let Some(owner) = state.owners.get_mut(&key).filter(|owner| !owner.has_ended()) {
            abandoned = owner.at_work;
            if holder.is_none() {
                *owner = Owner { node: me, epoch: owner.epoch + 1, at_work: true, ..*owner };
            }
        }
        let commands =
            state.waiting().filter(|it| State::key(&it.command) == key).map(|it| it.command.clone()).collect();
        let stored = Self::with_epoch(stored, state.owners.get(&key));
        Ok(Some(Claim::Owned { stored, abandoned, commands }))
    }

    async fn sequences(&self, tasks: &[(Scope, TaskId)]) -> Result<Vec<Option<u64>>, StoreError> {
        self.reach()?;
        self.shared.tasks.sequences(tasks).await
    }

    async fn events_after(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        self.reach()?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let left = self.faults.lock().panics_at_logs.checked_sub(1);
        if let Some(left) = left {
            self.set(|faults| faults.panics_at_logs = left);
            panic!("the store panics");
        }
        self.shared.tasks.events_after(scope, id, after, portion).await
    }

    async fn task_of_message(
        &self,
        scope: &Scope,
        message: &MessageId,
        since: Timestamp,
    ) -> Result<Option<TaskId>, StoreError> {
        while self.faults.lock().hangs_at_messages {
            sleep(Duration::from_millis(10)).await;
        }
        self.reach()?;
        self.shared.tasks.task_of_message(scope, message, since).await
    }

    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError> {
        self.reach()?;
        self.shared.tasks.forget_messages(before).await
    }

    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.reach()?;
        self.shared.tasks.list(scope, query).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.reach()?;
        let orphans = self.shared.state.lock().await.orphans(self.shared.lease);
        Ok(orphans.into_iter().take(limit).map(|(scope, id)| Orphan { scope, id }).collect())
    }

    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError> {
        self.reach()?;
        let after = after.map(str::parse).transpose().map_err(|_| StoreError::BadPageToken)?;
        let state = self.shared.state.lock().await;
        let found = state.at_work(self.me(), after, limit);
        let next = found.last().filter(|_| found.len() == limit).map(|(_, owner)| owner.number.to_string().into());
        let at_work = |(key, owner): &(&Key, &Owner)| {
            let (scope, id) = Key::clone(key);
            AtWork { scope, id, epoch: owner.epoch, sequence: owner.sequence }
        };
        Ok(AtWorkPage { tasks: found.iter().map(at_work).collect(), next })
    }

    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError> {
        self.reach()?;
        self.shared.tasks.put_push_config(scope, config).await
    }

    async fn push_configs(&self, scope: &Scope, task: &TaskId) -> Result<Option<Vec<PushConfig>>, StoreError> {
        self.reach()?;
        self.shared.tasks.push_configs(scope, task).await
    }

    async fn delete_push_config(&self, scope: &Scope, task: &TaskId, id: &PushConfigId) -> Result<bool, StoreError> {
        self.reach()?;
        self.shared.tasks.delete_push_config(scope, task, id).await
    }

    async fn due_pushes(&self, now: Timestamp, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        self.reach()?;
        self.shared.tasks.due_pushes(now, limit).await
    }

    async fn next_push(&self) -> Result<Option<Timestamp>, StoreError> {
        self.reach()?;
        self.shared.tasks.next_push().await
    }

    async fn settle_push(&self, settlement: PushSettlement) -> Result<(), StoreError> {
        self.reach()?;
        self.shared.tasks.settle_push(settlement).await
    }

    async fn purge(&self, purge: &Purge) -> Result<usize, StoreError> {
        self.reach()?;
        let purged = self.shared.tasks.purge(purge).await?;
        self.forget_owners().await?;
        Ok(purged)
    }

    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.reach()?;
        self.shared.tasks.resting(states, before, limit).await
    }

    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError> {
        self.reach()?;
        let erased = self.shared.tasks.erase(erase).await?;
        self.forget_owners().await?;
        Ok(erased)
    }

    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
        self.reach()?;
        let mut page = self.shared.tasks.scan(after, limit).await?;
        let state = self.shared.state.lock().await;
        for scanned in &mut page.tasks {
            let key = (scanned.scope.clone(), scanned.stored.task.id.clone());
            scanned.stored = Self::with_epoch(scanned.stored.clone(), state.owners.get(&key));
        }
        Ok(page)
    }

    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.reach()?;
        self.shared.tasks.compact(before, limit).await
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        Some(self)
    }

    async fn belongs_to(&self, agent: &str, adopt: bool) -> Result<Option<String>, StoreError> {
        self.shared.tasks.belongs_to(agent, adopt).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.reach()
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.reach()?;
        self.shared.state.lock().await.leave(self.me());
        Ok(())
    }
}

#[async_trait]
impl Cluster for MemoryNode {
    fn lease(&self) -> Duration {
        self.shared.lease
    }

    fn node(&self) -> NodeId {
        self.me()
    }

    async fn renew(&self) -> Result<Lease, StoreError> {
        // `wait_for` cannot fail, because `self` has the sender.
        drop(self.stalled.subscribe().wait_for(|stalled| !stalled).await);
        self.reach()?;
        if self.silent.load(Ordering::Relaxed) {
            return Ok(Lease::Kept);
        }
        let mut state = self.shared.state.lock().await;
        if self.rejoined.swap(false, Ordering::Relaxed) {
            return Ok(Lease::Lost);
        }
        if state.renew(self.me(), self.shared.lease) {
            return Ok(Lease::Kept);
        }
        self.id.store(state.join(self.shared.lease).0, Ordering::Relaxed);
        Ok(Lease::Lost)
    }

    async fn enqueue(&self, command: &Command) -> Result<Enqueued, StoreError> {
        self.reach()?;
        self.fails(|faults| faults.refuses_commands)?;
        let mut state = self.shared.state.lock().await;
        let key = State::key(command);
        if !state.owners.contains_key(&key) {
            return Ok(Enqueued::NoTask);
        }
        let Some(holder) = state.holder(&key) else {
            let is_there = state.commands.contains_key(&command.id);
            return Ok(if is_there { Enqueued::Waits } else { Enqueued::NoOwner });
        };
        let waiting = || Waiting { command: command.clone(), status: CommandStatus::default(), since: Instant::now() };
        state.commands.entry(command.id.clone()).or_insert_with(waiting);
        self.fails(|faults| faults.loses_answers_to_commands)?;
        Ok(Enqueued::Stored(holder))
    }

    async fn pending(&self, limit: usize) -> Result<Vec<Command>, StoreError> {
        self.reach()?;
        let state = self.shared.state.lock().await;
        let me = Some(self.me());
        let mine = state.waiting().filter(|it| state.holder(&State::key(&it.command)) == me);
        Ok(mine.take(limit).map(|it| it.command.clone()).collect())
    }

    async fn report(&self, id: &CommandId, report: Report) -> Result<(), StoreError> {
        self.reach()?;
        self.fails(|faults| faults.refuses_reports)?;
        if let Some(waiting) = self.shared.state.lock().await.commands.get_mut(id) {
            match report {
                Report::Begun(sequence) => waiting.status.begun = Some(sequence),
                Report::Rested(sequence) => waiting.status.rested = Some(sequence),
                Report::Refused(reason) => waiting.status.refused = Some(reason),
            }
        }
        Ok(())
    }

    async fn statuses(&self, ids: &[CommandId]) -> Result<Vec<Option<CommandStatus>>, StoreError> {
        self.reach()?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let state = self.shared.state.lock().await;
        let status = |waiting: &Waiting| {
            let holder = state.holder(&State::key(&waiting.command));
            CommandStatus { holder, ..waiting.status.clone() }
        };
        Ok(ids.iter().map(|id| state.commands.get(id).map(status)).collect())
    }

    async fn cancel(&self, id: &CommandId) -> Result<bool, StoreError> {
        self.reach()?;
        let mut state = self.shared.state.lock().await;
        let is_waiting = state.waiting().any(|it| it.command.id == *id);
        if is_waiting {
            state.commands.remove(id);
        }
        Ok(is_waiting)
    }

    async fn delete(&self, id: &CommandId) -> Result<(), StoreError> {
        self.reach()?;
        self.shared.state.lock().await.commands.remove(id);
        Ok(())
    }
}
