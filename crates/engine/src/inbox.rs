//! What reaches a runner from outside.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use nuncio_model::{Error, Task, op::SendMessageRequest};
use tokio::sync::oneshot;

use crate::reader::LogReader;

/// Something for a runner to do between two words of its agent.
pub(crate) enum Control {
    /// A message for the task; its turn comes after those before it.
    Message(Incoming),
    /// The client wants the task canceled.
    Cancel,
    /// The task cannot go on, for this reason.
    Fail(String),
    /// The node stops; the turn will be run again.
    Leave,
    /// A turn that was cut off is to be run again.
    Rerun(Incoming),
    /// Nothing but to let go of a task that rests.
    Release,
}

/// A message on its way to its turn.
pub(crate) struct Incoming {
    pub(crate) request: Arc<SendMessageRequest>,
    pub(crate) extensions: Arc<[Box<str>]>,
    /// Told once the message is in the log.
    pub(crate) accepted: Option<oneshot::Sender<Result<Accepted, Error>>>,
    pub(crate) started: Started,
}

/// A message that is in the log.
pub(crate) struct Accepted {
    /// The task as of then.
    pub(crate) task: Arc<Task>,
    /// Reads what comes after.
    pub(crate) reader: LogReader,
}

/// From which record on a message's own turn speaks.
#[derive(Clone)]
pub(crate) struct Started(Arc<AtomicU64>);

impl Started {
    /// Not yet.
    pub(crate) fn not_yet() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// It speaks from the first record after this one.
    pub(crate) fn after(sequence: u64) -> Self {
        Self(Arc::new(AtomicU64::new(sequence)))
    }

    pub(crate) fn set(&self, sequence: u64) {
        self.0.store(sequence, Ordering::Release);
    }

    /// Whether this record belongs to its turn, or one after it.
    pub(crate) fn is_before(&self, sequence: u64) -> bool {
        self.0.load(Ordering::Acquire) < sequence
    }

    pub(crate) fn has_started(&self) -> bool {
        self.0.load(Ordering::Acquire) != u64::MAX
    }
}
