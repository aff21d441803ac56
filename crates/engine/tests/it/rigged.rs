//! A store with pauses and failures on command.

use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use nuncio_engine::{
    MemoryStore, Record, StoreError, TaskStore,
    store::{
        AtWorkPage, Claim, Commit, Committed, DuePush, Erase, ListPage, ListQuery, Orphan, Portion, Purge, PushConfig,
        PushSettlement, ScanPage, Stored,
    },
};
use nuncio_model::{
    Message, MessageId, PushConfigId, Scope, StreamResponse, Task, TaskId, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Timestamp,
};
use tokio::{sync::Semaphore, task::yield_now};

/// The outcome of a commit or a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The call is written.
    Goes,
    /// The call is not written.
    Fails,
    /// The call is written, and its answer is lost.
    FailsAfterWriting,
    /// Another node owns the task.
    Conflicts,
    /// The store can never write the call.
    TooLarge,
    Panics,
}

/// A store in memory. Each call yields first, so that a test can drop a waiting future there.
pub(crate) struct Rigged {
    inner: Arc<MemoryStore>,
    /// If set, commits wait here in a queue of the store, even after their callers have left.
    pub(crate) queue: Mutex<Option<Arc<Semaphore>>>,
    /// If set, the answers to commits wait here.
    pub(crate) answers_wait: Mutex<Option<Arc<Semaphore>>>,
    /// If set, the answers to erasures wait here.
    pub(crate) erasures_wait: Mutex<Option<Arc<Semaphore>>>,
    /// If set, loaded tasks wait here before they are returned.
    pub(crate) loads_wait: Mutex<Option<Arc<Semaphore>>>,
    /// If set, claims wait here.
    pub(crate) claims_wait: Mutex<Option<Arc<Semaphore>>>,
    pub(crate) full: AtomicBool,
    commits: Mutex<VecDeque<Fate>>,
    claims: Mutex<VecDeque<Fate>>,
    pub(crate) orphans: Mutex<Vec<Orphan>>,
    /// The number of reads of records.
    pub(crate) reads: AtomicUsize,
    pub(crate) claimed: AtomicUsize,
    /// The state of tasks that cannot be purged.
    pub(crate) kept: Mutex<Option<TaskState>>,
    /// The difference between its clock and the system clock, in milliseconds.
    pub(crate) ahead: AtomicI64,
    /// Tasks that were not released.
    at_work: Arc<Mutex<HashSet<TaskId>>>,
}

impl Rigged {
    pub(crate) fn new() -> Arc<Self> {
        Self::over(MemoryStore::builder().keep_log(true).build())
    }

    pub(crate) fn over(inner: MemoryStore) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::new(inner),
            queue: Mutex::default(),
            answers_wait: Mutex::default(),
            erasures_wait: Mutex::default(),
            loads_wait: Mutex::default(),
            claims_wait: Mutex::default(),
            full: AtomicBool::default(),
            commits: Mutex::default(),
            claims: Mutex::default(),
            orphans: Mutex::default(),
            reads: AtomicUsize::default(),
            claimed: AtomicUsize::default(),
            kept: Mutex::default(),
            ahead: AtomicI64::default(),
            at_work: Arc::default(),
        })
    }

    /// The store without pauses and failures.
    pub(crate) fn inner(&self) -> &MemoryStore {
        &self.inner
    }

    /// The number of tasks that were not released.
    pub(crate) fn at_work(&self) -> usize {
        self.at_work.lock().unwrap().len()
    }

    async fn write(&self, commit: Commit) -> Result<Committed, StoreError> {
        let (inner, at_work) = (Arc::clone(&self.inner), Arc::clone(&self.at_work));
        let queue = self.queue.lock().unwrap().clone();
        let is_queued = queue.is_some();
        let written = async move {
            if let Some(queue) = queue {
                queue.acquire().await.unwrap().forget();
            }
            let (id, released) = (commit.id.clone(), commit.released);
            let committed = inner.commit(commit).await?;
            let mut at_work = at_work.lock().unwrap();
            if released {
                at_work.remove(&id)
            } else {
                at_work.insert(id)
            };
            Ok(committed)
        };
        if is_queued { tokio::spawn(written).await.unwrap() } else { written.await }
    }

    /// Sets the outcomes of the next commits. Later commits succeed.
    pub(crate) fn commits(&self, fates: impl IntoIterator<Item = Fate>) {
        *self.commits.lock().unwrap() = fates.into_iter().collect();
    }

    /// The number of outcomes that are left for commits.
    pub(crate) fn fates_left(&self) -> usize {
        self.commits.lock().unwrap().len()
    }

    /// Sets the outcomes of the next claims. Later claims succeed.
    pub(crate) fn claims(&self, fates: impl IntoIterator<Item = Fate>) {
        *self.claims.lock().unwrap() = fates.into_iter().collect();
    }

    /// A task that was running when its server stopped.
    pub(crate) async fn orphan(&self, id: &str) -> Orphan {
        let commit = at_work(id);
        let orphan = Orphan { scope: commit.scope.clone(), id: commit.id.clone() };
        self.inner.commit(commit).await.unwrap();
        orphan
    }
}

/// Creates a task with a running turn for its first message.
pub(crate) fn at_work(id: &str) -> Commit {
    let mut task = Task::new(id.into(), "context".into());
    task.history.push(Message::user("work"));
    let working = TaskStatusUpdateEvent { status: TaskStatus::new(TaskState::Working), ..Default::default() };
    Commit {
        scope: Scope::open(),
        id: task.id.clone(),
        context: "context".into(),
        expected: 0,
        epoch: 0,
        records: vec![
            Record::update(1, StreamResponse::Task(task)),
            Record::update(2, StreamResponse::StatusUpdate(working)),
        ],
        state: TaskState::Working,
        updated: Timestamp::now(),
        released: false,
        snapshot: None,
        push_configs: Vec::new(),
        acks: Vec::new(),
        remember: None,
    }
}

fn next(fates: &Mutex<VecDeque<Fate>>) -> Fate {
    fates.lock().unwrap().pop_front().unwrap_or(Fate::Goes)
}

/// Waits at a gate, if there is one.
async fn pass(gate: &Mutex<Option<Arc<Semaphore>>>) {
    let gate = gate.lock().unwrap().clone();
    if let Some(gate) = gate {
        gate.acquire().await.unwrap().forget();
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("unplugged".into())
}

#[async_trait]
impl TaskStore for Rigged {
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        yield_now().await;
        if self.full.load(Ordering::Acquire) {
            return Err(StoreError::Full("no room".into()));
        }
        match next(&self.commits) {
            Fate::Goes => {
                let committed = self.write(commit).await?;
                pass(&self.answers_wait).await;
                Ok(committed)
            }
            Fate::Fails => Err(unavailable()),
            Fate::FailsAfterWriting => {
                self.write(commit).await?;
                Err(unavailable())
            }
            Fate::Conflicts => Err(StoreError::Conflict),
            Fate::TooLarge => Err(StoreError::TooLarge("2 GiB".into())),
            Fate::Panics => panic!("the store panics"),
        }
    }

    async fn load(&self, scope: &Scope, id: &TaskId) -> Result<Option<Stored>, StoreError> {
        yield_now().await;
        let stored = self.inner.load(scope, id).await;
        pass(&self.loads_wait).await;
        stored
    }

    async fn claim(&self, scope: &Scope, id: &TaskId) -> Result<Option<Claim>, StoreError> {
        yield_now().await;
        self.claimed.fetch_add(1, Ordering::AcqRel);
        pass(&self.claims_wait).await;
        match next(&self.claims) {
            Fate::Goes => self.inner.claim(scope, id).await,
            Fate::Conflicts => Err(StoreError::Conflict),
            Fate::TooLarge => Err(StoreError::TooLarge("2 GiB".into())),
            Fate::Panics => panic!("the store panics"),
            Fate::Fails | Fate::FailsAfterWriting => Err(unavailable()),
        }
    }

    async fn events_after(
        &self,
        s: &Scope,
        id: &TaskId,
        after: u64,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        yield_now().await;
        self.reads.fetch_add(1, Ordering::AcqRel);
        self.inner.events_after(s, id, after, portion).await
    }

    async fn task_of_message(&self, s: &Scope, id: &MessageId, since: Timestamp) -> Result<Option<TaskId>, StoreError> {
        yield_now().await;
        self.inner.task_of_message(s, id, since).await
    }

    async fn forget_messages(&self, before: Timestamp) -> Result<(), StoreError> {
        self.inner.forget_messages(before).await
    }

    async fn list(&self, scope: &Scope, query: &ListQuery) -> Result<ListPage, StoreError> {
        yield_now().await;
        self.inner.list(scope, query).await
    }

    async fn orphans(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let mut orphans = self.orphans.lock().unwrap();
        let page = orphans.len().min(limit);
        Ok(orphans.drain(..page).collect())
    }

    async fn at_work(&self, after: Option<&str>, limit: usize) -> Result<AtWorkPage, StoreError> {
        yield_now().await;
        self.inner.at_work(after, limit).await
    }

    async fn put_push_config(&self, scope: &Scope, config: PushConfig) -> Result<bool, StoreError> {
        yield_now().await;
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
        if self.kept.lock().unwrap().is_some_and(|state| purge.states.contains(&state)) {
            return Err(StoreError::Unavailable("it cannot be purged".into()));
        }
        self.inner.purge(purge).await
    }

    async fn resting(&self, states: &[TaskState], before: Timestamp, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        self.inner.resting(states, before, limit).await
    }

    async fn erase(&self, erase: &Erase) -> Result<usize, StoreError> {
        let erased = self.inner.erase(erase).await;
        pass(&self.erasures_wait).await;
        erased
    }

    async fn scan(&self, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
        self.inner.scan(after, limit).await
    }

    async fn compact(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.inner.compact(before, limit).await
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        let now = Timestamp::now().as_millisecond() + self.ahead.load(Ordering::Relaxed);
        Ok(Timestamp::from_millisecond(now).unwrap())
    }

    async fn belongs_to(&self, agent: &str, adopt: bool) -> Result<Option<String>, StoreError> {
        self.inner.belongs_to(agent, adopt).await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.inner.check().await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}
