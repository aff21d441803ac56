//! Writes commits: one task, one connection, groups of commits in one statement each.
//!
//! All commits that wait while a group is written become the next group. A group is a single statement. Therefore a
//! group is never left half done, and a node that is suspended during a group holds no lock.
//!
//! When a connection breaks, the outcome of its statements is unknown. Each node has one advisory lock. With this lock,
//! the next connection first makes sure that the previous connection has ended. Only then the state of the affected
//! tasks is final: none of the earlier statements can take effect later.

mod batch;
mod doubt;
mod rows;
mod worker;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub(super) use batch::ENDED;
pub(super) use doubt::Doubt;
use nuncio_engine::{
    StoreError,
    store::{Committed, NodeId},
};
use nuncio_model::{Scope, TaskId};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::{Instant, timeout_at},
};

pub(super) use rows::state as state_column;

use self::worker::Worker;
use super::{error::unavailable, session::Connector};
use crate::{append::Append, error::closed};

#[derive(Debug)]
pub(super) enum Op {
    /// A commit to a log, by this node.
    Append(Box<Append>, NodeId),
    /// Claims a task for a node.
    Claim { scope: Scope, id: TaskId, node: NodeId },
    /// Checks whether writing works.
    Probe,
    /// Ends the committer. Later writes are refused.
    Close,
}

impl Op {
    /// The task that the write changes.
    fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Append(append, _) => Some(&append.id),
            Self::Claim { id, .. } => Some(id),
            Self::Probe | Self::Close => None,
        }
    }

    /// The approximate number of bytes that are sent to the server.
    fn len(&self) -> usize {
        match self {
            Self::Append(append, _) => {
                append.records.as_ref().map_or(0, String::len)
                    + append.snapshot.as_ref().map_or(0, |snapshot| snapshot.body.len())
            }
            _ => 0,
        }
    }
}

/// The result of a successful write.
#[derive(Debug)]
pub(super) enum Done {
    Committed(Committed),
    /// The result of a claim; `None` if the task does not exist.
    Claimed(Option<Claimed>),
    /// Nothing was written: a message of the commit is a duplicate.
    Duplicate,
    Nothing,
}

/// The result of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claimed {
    /// The task belongs to this node under this epoch, or has ended.
    Owned { abandoned: bool, epoch: u64 },
    /// The task is running on another node with a valid lease.
    Held(NodeId),
    /// This node has no valid lease.
    NoLease,
}

pub(super) type Outcome = Result<Done, StoreError>;

struct Job {
    op: Op,
    reply: oneshot::Sender<Outcome>,
    /// After this time, the write must not be started.
    deadline: Instant,
}

impl Job {
    /// Sends the outcome. The caller may have dropped the receiver.
    fn answer(self, outcome: Outcome) {
        drop(self.reply.send(outcome));
    }
}

/// The queue of writes.
pub(super) struct Committer {
    jobs: mpsc::Sender<Job>,
    doubt: Arc<Doubt>,
    is_failing: Arc<AtomicBool>,
    /// Whether anything was written since the flag was last cleared.
    has_written: Arc<AtomicBool>,
    connector: Arc<Connector>,
    worker: AbortHandle,
}

impl Committer {
    /// Starts the task that writes. `lock` must differ from the locks of all other processes that use the schema.
    pub(super) fn start(connector: Arc<Connector>, lock: i64) -> Self {
        let (jobs, waiting) = mpsc::channel(connector.options.queue.max(1));
        let (doubt, is_failing) = (Arc::new(Doubt::default()), Arc::new(AtomicBool::new(false)));
        let has_written = Arc::new(AtomicBool::new(true));
        let worker = Worker {
            connector: Arc::clone(&connector),
            lock,
            session: None,
            failures: nuncio_limit::Failures::default(),
            jobs: waiting,
            waiting: VecDeque::new(),
            doubt: Arc::clone(&doubt),
            is_failing: Arc::clone(&is_failing),
            has_written: Arc::clone(&has_written),
        };
        let worker = tokio::spawn(worker.run()).abort_handle();
        Self { jobs, doubt, is_failing, has_written, connector, worker }
    }

    /// Queues a write and waits until the write is in the database. If the future is dropped, the write may still be
    /// executed.
    pub(super) async fn write(&self, op: Op) -> Outcome {
        let (reply, outcome) = oneshot::channel();
        let deadline = Instant::now() + self.connector.options.wait_timeout;
        let room = timeout_at(deadline, self.jobs.reserve()).await;
        let room =
            room.map_err(|_| unavailable("the queue of commits is full; try again later"))?.map_err(|_| closed())?;
        room.send(Job { op, reply, deadline });
        outcome.await.map_err(|_| closed())?
    }

    pub(super) fn doubt(&self) -> &Doubt {
        &self.doubt
    }

    /// Whether the last group could not be written.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// The flag that is set after each write.
    pub(super) fn activity(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_written)
    }
}

/// Commits in progress may still be written after the drop.
impl Drop for Committer {
    fn drop(&mut self) {
        self.worker.abort();
    }
}
