//! A commit that is ready for the writer thread. Because the writer is shared, each caller serializes the bodies of its
//! own commit before it queues the commit.

use std::sync::Arc;

use nuncio_engine::{
    Record, StoreError,
    store::{CommandId, Commit, Remember, Stored},
};
use nuncio_limit::offload::Offload;
use nuncio_model::{ContextId, PushConfigId, Scope, Task, TaskId, TaskPushNotificationConfig, TaskState, weight};

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
    /// The records as JSON; `None` if no reader can ask for these records.
    pub(crate) records: Option<String>,
    pub(crate) push_configs: Vec<ConfigRow>,
    /// The commands whose messages are in the records, each with the sequence number of its record.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only a cluster has commands"))]
    pub(crate) acks: Vec<(CommandId, u64)>,
    /// Message ids to store, so that the store recognizes a duplicate message.
    pub(crate) remember: Option<Box<Remember>>,
}

/// A row of the table of push configurations.
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

/// How many large commits are serialized at the same time. Further large commits wait.
const LARGE_AT_ONCE: usize = 2;

/// The permits for serializing large commits.
pub(crate) fn offload() -> Offload {
    Offload::new(LARGE_AT_ONCE)
}

impl Append {
    /// Serializes the commit. Large bodies are serialized outside of the async runtime, because they would block its
    /// thread.
    pub(crate) async fn write(commit: Commit, offload: &Offload) -> Result<Box<Self>, StoreError> {
        let records: usize = commit.records.iter().map(Record::size).sum();
        let task = commit.snapshot.as_deref().map_or(0, weight::of_task);
        let place = offload.place(records + task).await;
        place.run(|| Self::new(commit).map(Box::new))
    }

    pub(crate) fn new(commit: Commit) -> Result<Self, StoreError> {
        // A task that is created and ended by one commit had no readers, and its snapshot contains everything: the
        // records are not stored. If such a task still waits (`released` is false), it continues and needs its records.
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

    /// The task after this commit, as a reader would load it, and its length in bytes of JSON. `None` if the commit has
    /// no snapshot.
    pub(crate) fn stored(&self, epoch: u64) -> Option<(Stored, usize)> {
        let snapshot = self.snapshot.as_ref()?;
        let stored = Stored { task: Arc::clone(&snapshot.task), sequence: self.sequence, epoch };
        Some((stored, snapshot.body.len()))
    }
}
