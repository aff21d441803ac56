//! A commit on its way to the writer, with its bodies written out already: that work is done by those who wait for it.

use std::sync::Arc;

use nuncio_engine::{
    Record, StoreError,
    offload::Offload,
    store::{CommandId, Commit, Remember, Stored},
    weight,
};
use nuncio_model::{ContextId, PushConfigId, Scope, Task, TaskId, TaskPushNotificationConfig, TaskState};

use crate::{
    body::{self, Body},
    columns::Moment,
};

#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) scope: Scope,
    pub(crate) id: TaskId,
    pub(crate) context: ContextId,
    pub(crate) expected: u64,
    pub(crate) sequence: u64,
    pub(crate) epoch: u64,
    pub(crate) state: TaskState,
    pub(crate) updated: Moment,
    pub(crate) released: bool,
    pub(crate) snapshot: Option<Snapshot>,
    /// The records; `None` where nobody will ever want them.
    pub(crate) records: Option<String>,
    pub(crate) push_configs: Vec<ConfigRow>,
    /// The commands whose messages are in the records, each with the number of its record.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only a cluster has commands"))]
    pub(crate) acks: Vec<(CommandId, u64)>,
    /// Messages that are to be known again.
    pub(crate) remember: Option<Box<Remember>>,
}

/// A push configuration as it is written.
#[derive(Debug)]
pub(crate) struct ConfigRow {
    pub(crate) id: PushConfigId,
    /// The configuration as JSON.
    pub(crate) json: String,
    pub(crate) format: Option<Box<str>>,
}

impl ConfigRow {
    pub(crate) fn new(config: &TaskPushNotificationConfig, format: Option<Box<str>>) -> Result<Self, StoreError> {
        Ok(Self { id: config.id.clone().unwrap_or_default(), json: body::write(config)?, format })
    }
}

#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) task: Arc<Task>,
    pub(crate) body: Body,
}

impl Snapshot {
    fn new(task: Arc<Task>) -> Result<Self, StoreError> {
        Ok(Self { body: Body::of(&task)?, task })
    }
}

/// How many large commits are written as JSON at the same time; more wait.
const LARGE_AT_ONCE: usize = 2;

/// Places for large commits that are written as JSON.
pub(crate) fn offload() -> Offload {
    Offload::new(LARGE_AT_ONCE)
}

impl Append {
    /// The commit with its bodies, which are written off the runtime where they are large.
    pub(crate) async fn write(commit: Commit, offload: &Offload) -> Result<Box<Self>, StoreError> {
        let records: usize = commit.records.iter().map(Record::size).sum();
        let task = commit.snapshot.as_deref().map_or(0, weight::of_task);
        let place = offload.place(records + task).await;
        place.run(|| Self::new(commit).map(Box::new))
    }

    pub(crate) fn new(commit: Commit) -> Result<Self, StoreError> {
        // A task that comes and goes in one commit had no readers, and its snapshot says all. One that waits goes on.
        let is_over =
            commit.expected == 0 && commit.state.is_terminal() && commit.released && commit.snapshot.is_some();
        let has_readers = !is_over || !commit.push_configs.is_empty();
        let is_wanted = has_readers && !commit.records.is_empty();
        let records =
            is_wanted.then(|| body::write_records(&commit.records, &commit.id, &commit.context)).transpose()?;
        let configs = commit.push_configs.iter().map(|push| ConfigRow::new(&push.config, push.format.clone()));
        Ok(Self {
            sequence: commit.sequence(),
            push_configs: configs.collect::<Result<_, StoreError>>()?,
            snapshot: commit.snapshot.map(Snapshot::new).transpose()?,
            records,
            remember: commit.remember,
            scope: commit.scope,
            id: commit.id,
            context: commit.context,
            expected: commit.expected,
            epoch: commit.epoch,
            state: commit.state,
            updated: commit.updated.into(),
            released: commit.released,
            acks: commit.acks,
        })
    }

    /// The task as a reader would find it after this, where that is known, and how long it is.
    pub(crate) fn stored(&self, epoch: u64) -> Option<(Stored, usize)> {
        let snapshot = self.snapshot.as_ref()?;
        let stored = Stored { task: Arc::clone(&snapshot.task), sequence: self.sequence, epoch };
        Some((stored, snapshot.body.len()))
    }
}
