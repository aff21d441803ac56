//! Writes the log of a task like a runner, and knows the expected result.

use std::sync::Arc;

use nuncio_engine::{
    Record, lifecycle,
    store::{Claim, Commit, Committed, PushConfig, StoreError, Stored, TaskStore},
};
use nuncio_model::{
    Artifact, Message, Part, Scope, StreamResponse, Task, TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Timestamp,
};

/// The start time of all tests, plus a number of milliseconds.
pub(crate) fn at(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(1_769_860_800_000 + millisecond).unwrap()
}

/// A status update.
pub(crate) fn status(state: TaskState, updated: Timestamp) -> StreamResponse {
    let status = TaskStatus { state, message: None, timestamp: Some(updated) };
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent { status, ..Default::default() })
}

/// A chunk of the artifact `a`.
pub(crate) fn chunk(text: &str) -> StreamResponse {
    let artifact = Artifact::new("a", vec![Part::text(text)]);
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent { artifact, append: true, ..Default::default() })
}

/// Claims a task that no other node owns.
pub(crate) async fn claim(store: &impl TaskStore, task: &Writer) -> Stored {
    match store.claim(&task.scope, task.id()).await.unwrap() {
        Some(Claim::Owned { stored, .. }) => stored,
        other => panic!("{other:?}"),
    }
}

/// The log of a task, and the fold of the log.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub(crate) scope: Scope,
    pub(crate) task: Task,
    pub(crate) log: Vec<Record>,
    pub(crate) epoch: u64,
    pub(crate) push_configs: Vec<PushConfig>,
    pub(crate) staged: Vec<Record>,
}

impl Writer {
    /// A task that is not stored yet: submitted at [`at`]`(0)`, in its own context.
    pub(crate) fn new(id: &str) -> Self {
        let mut task = Task::new(id.into(), format!("context of {id}").into());
        task.status.timestamp = Some(at(0));
        task.history.push(Message { message_id: "m".into(), ..Message::user("hello") });
        Self { scope: Scope::open(), task, log: Vec::new(), epoch: 0, push_configs: Vec::new(), staged: Vec::new() }
    }

    pub(crate) fn in_scope(mut self, scope: &Scope) -> Self {
        self.scope = scope.clone();
        self
    }

    pub(crate) fn in_context(mut self, context: &str) -> Self {
        self.task.context_id = Some(context.into());
        self
    }

    pub(crate) fn in_state(mut self, state: TaskState, updated: Timestamp) -> Self {
        self.task.status = TaskStatus { state, message: None, timestamp: Some(updated) };
        self
    }

    pub(crate) fn id(&self) -> &TaskId {
        &self.task.id
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.log.len() as u64
    }

    /// Stages a change for the next commit, with the ids of this task and its context.
    pub(crate) fn stage(&mut self, mut response: StreamResponse) -> &mut Self {
        let (task, context) = (self.task.id.clone(), self.task.context_id.clone().unwrap_or_default());
        match &mut response {
            StreamResponse::StatusUpdate(update) => (update.task_id, update.context_id) = (task, context),
            StreamResponse::ArtifactUpdate(update) => (update.task_id, update.context_id) = (task, context),
            StreamResponse::Task(_) | StreamResponse::Message(_) => {}
        }
        self.push(|sequence| Record::update(sequence, response))
    }

    /// Stages a message of the client.
    pub(crate) fn stage_received(&mut self, message: Message) -> &mut Self {
        self.push(|sequence| Record::received(sequence, message))
    }

    /// Stages a message of the client that waits in the queue, and the start of its turn.
    pub(super) fn stage_waiting(&mut self, message: Message) -> &mut Self {
        self.push(|sequence| Record::waiting(sequence, message)).push(Record::Begun)
    }

    fn push(&mut self, record: impl FnOnce(u64) -> Record) -> &mut Self {
        self.stage_task();
        let record = record(self.sequence() + self.staged.len() as u64 + 1);
        lifecycle::apply(&mut self.task, &record).unwrap();
        self.staged.push(record);
        self
    }

    /// Stages the first record of a new task.
    fn stage_task(&mut self) {
        if self.log.is_empty() && self.staged.is_empty() {
            self.staged.push(Record::update(1, StreamResponse::Task(self.task.clone())));
        }
    }

    /// The staged records as a commit. The first commit creates the task.
    pub(crate) fn next_commit(&mut self, released: bool, snapshot: bool) -> Commit {
        self.stage_task();
        Commit {
            scope: self.scope.clone(),
            id: self.task.id.clone(),
            context: self.task.context_id.clone().unwrap_or_default(),
            expected: self.sequence(),
            epoch: self.epoch,
            records: self.staged.clone(),
            state: self.task.state(),
            updated: self.task.status.timestamp.unwrap_or_default(),
            released,
            snapshot: snapshot.then(|| Arc::new(self.task.clone())),
            push_configs: self.push_configs.clone(),
            acks: Vec::new(),
            remember: None,
        }
    }

    /// Commits the staged records as the owner of the task.
    pub(crate) async fn commit(
        &mut self,
        store: &impl TaskStore,
        released: bool,
        snapshot: bool,
    ) -> Result<Committed, StoreError> {
        let commit = self.next_commit(released, snapshot);
        let committed = store.commit(commit).await?;
        self.epoch = committed.epoch;
        self.committed();
        Ok(committed)
    }

    /// Notes that the staged records are stored.
    pub(crate) fn committed(&mut self) {
        self.log.append(&mut self.staged);
        self.push_configs.clear();
    }

    /// Creates the task or commits the staged records, and keeps the task.
    pub(crate) async fn run(&mut self, store: &impl TaskStore) -> Committed {
        let creates = self.sequence() == 0;
        self.commit(store, false, creates).await.unwrap()
    }

    /// Commits the staged records and releases the task.
    pub(crate) async fn release(&mut self, store: &impl TaskStore) -> Committed {
        self.commit(store, true, true).await.unwrap()
    }

    /// Commits a change of status. A parked or ended task is released.
    pub(crate) async fn set(&mut self, store: &impl TaskStore, state: TaskState, updated: Timestamp) -> Committed {
        self.stage(status(state, updated));
        if state.is_terminal() || state.is_interrupted() { self.release(store).await } else { self.run(store).await }
    }

    /// Creates the task in its final state.
    pub(crate) async fn create_ended(&mut self, store: &impl TaskStore) -> Committed {
        self.release(store).await
    }

    /// The stored task.
    pub(crate) async fn load(&self, store: &impl TaskStore) -> Stored {
        store.load(&self.scope, self.id()).await.unwrap().unwrap()
    }

    /// Asserts that the stored task is the expected task.
    pub(crate) async fn assert_stored(&self, store: &impl TaskStore) {
        let stored = self.load(store).await;
        assert_eq!(*stored.task, self.task);
        assert_eq!((stored.sequence, stored.epoch), (self.sequence(), self.epoch));
    }
}
