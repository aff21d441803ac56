//! The way of a commit to the server: one task, one connection, groups of commits in one statement each.
//!
//! Whatever waits while one group is being written becomes the next. A group is a single statement, so nothing is ever
//! left half done, and an owner that is frozen in the middle holds no lock.
//!
//! A connection that breaks says nothing of what was under way. So the next one first makes sure that the one before
//! has ended, by a lock that a node has once; only then what was in doubt is known: nothing of it can come later.

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

/// A write.
#[derive(Debug)]
pub(super) enum Op {
    /// A commit to a log, by this node.
    Append(Box<Append>, NodeId),
    /// Takes a task over.
    Claim { scope: Scope, id: TaskId, node: NodeId },
    /// Finds out whether writing works.
    Probe,
    /// Nothing is written after this.
    Close,
}

impl Op {
    /// The task that it changes.
    fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Append(append, _) => Some(&append.id),
            Self::Claim { id, .. } => Some(id),
            Self::Probe | Self::Close => None,
        }
    }

    /// How many bytes go over the wire, nearly.
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

/// What a write did.
#[derive(Debug)]
pub(super) enum Done {
    Committed(Committed),
    /// What came of a claim; `None` where there is no such task.
    Claimed(Option<Claimed>),
    /// Nothing was written: a message of the commit is known already.
    Repeated,
    Nothing,
}

/// What came of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claimed {
    /// The task is this node's under this epoch, or has ended.
    Owned { abandoned: bool, epoch: u64 },
    /// A node that lives is at work on it.
    Held(NodeId),
    /// This node has no lease to claim it under.
    NoLease,
}

pub(super) type Outcome = Result<Done, StoreError>;

struct Job {
    op: Op,
    reply: oneshot::Sender<Outcome>,
    /// It is not begun after this.
    deadline: Instant,
}

impl Job {
    /// Whoever dropped the receiver does not want to know.
    fn answer(self, outcome: Outcome) {
        drop(self.reply.send(outcome));
    }
}

/// Where writes wait.
pub(super) struct Committer {
    jobs: mpsc::Sender<Job>,
    doubt: Arc<Doubt>,
    is_failing: Arc<AtomicBool>,
    /// Whether anything was written since somebody last looked.
    has_written: Arc<AtomicBool>,
    connector: Arc<Connector>,
    worker: AbortHandle,
}

impl Committer {
    /// Starts the task that writes. `lock` is this process's own among all that have the schema open.
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

    /// Writes, and waits for it to be in the database. When the future is dropped the write may still happen.
    pub(super) async fn write(&self, op: Op) -> Outcome {
        let (reply, outcome) = oneshot::channel();
        let deadline = Instant::now() + self.connector.options.patience;
        let room = timeout_at(deadline, self.jobs.reserve()).await;
        let room = room.map_err(|_| unavailable("too many commits wait for the database"))?.map_err(|_| closed())?;
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

    /// Whether anything was written since the last time.
    pub(super) fn activity(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_written)
    }
}

/// Commits that are under way then may still be written; nobody waits for them any more.
impl Drop for Committer {
    fn drop(&mut self) {
        self.worker.abort();
    }
}
