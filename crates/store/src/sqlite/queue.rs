//! The way of a write to the thread that does it, and of the outcome back: in groups.
//!
//! Whatever waits while one group is being written becomes the next, handed over at once and waking the runtime once
//! when it is done. That is what makes many small commits cheap.

use std::sync::mpsc as thread;

use nuncio_engine::{
    StoreError,
    store::{Committed, Purge, PushSettlement},
};
use nuncio_model::{PushConfigId, Scope, TaskId, Timestamp};
use tokio::sync::{mpsc, oneshot};

use super::{
    append::{Append, ConfigRow},
    error::closed,
};

/// Writes in one transaction, at most.
const GROUP: usize = 512;

/// A write.
#[derive(Debug)]
pub(super) enum Op {
    /// A commit to a log.
    Append(Box<Append>),
    /// Takes a task over from an earlier process, or from a runner of this one that is gone.
    Claim { scope: Scope, id: TaskId },
    /// Stores a push configuration: its JSON, and the last record that it does not want.
    PutConfig { scope: Scope, task: TaskId, config: ConfigRow, delivered: u64 },
    /// Removes a push configuration.
    DeleteConfig { scope: Scope, task: TaskId, id: PushConfigId },
    /// Notes how a delivery went.
    Settle(Box<PushSettlement>),
    /// Deletes tasks; of those that are old only such as still are.
    Delete { tasks: Vec<Candidate>, purge: Option<Purge> },
    /// Drops some of the records that deleted tasks have left.
    Sweep,
    /// Drops some of the records of tasks that were let go of before a time, of at most so many tasks.
    Compact { before: Timestamp, limit: usize },
    /// Forgets some of the messages that were remembered before a time.
    Forget { before: Timestamp },
    /// Moves the log into the database and empties it, when nobody reads there.
    EmptyLog,
    /// Notes the agent that is served.
    Serve(String),
    /// Finds out whether writing works.
    Probe,
    /// Writes the log into the database and ends the thread.
    Close,
}

impl Op {
    pub(super) fn as_append(&self) -> Option<&Append> {
        match self {
            Self::Append(append) => Some(append),
            _ => None,
        }
    }

    /// The tasks that it changes, as the cache has them.
    pub(super) fn cached(&self) -> impl Iterator<Item = (&Scope, &TaskId)> {
        let (one, many) = match self {
            Self::Append(append) => (Some((&append.scope, &append.id)), [].iter()),
            Self::Claim { scope, id } => (Some((scope, id)), [].iter()),
            Self::Delete { tasks, .. } => (None, tasks.iter()),
            _ => (None, [].iter()),
        };
        one.into_iter().chain(many.map(|task| (&task.scope, &task.id)))
    }
}

/// A task that is to be deleted.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) task: i64,
    pub(super) scope: Scope,
    pub(super) id: TaskId,
}

/// What a write did.
#[derive(Debug, Clone, Copy)]
pub(super) enum Done {
    Committed(Committed),
    /// Whether there was a task to write to.
    Found(bool),
    /// There is a task; whether it was left at work.
    Claimed(bool),
    Removed(Removed),
}

/// What went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// Tasks, or tasks' logs to their end.
    pub(super) tasks: usize,
    /// Rows of records.
    pub(super) rows: usize,
}

pub(super) type Outcome = Result<Done, StoreError>;

/// Writes for one transaction.
pub(super) struct Group {
    pub(super) ops: Vec<Op>,
    pub(super) done: oneshot::Sender<Vec<Outcome>>,
}

/// What the thread is told.
pub(super) enum Order {
    Write(Group),
    /// Nobody is left to write for.
    Stop,
}

struct Job {
    op: Op,
    reply: oneshot::Sender<Outcome>,
}

/// Where writes wait.
pub(super) struct Queue {
    jobs: mpsc::Sender<Job>,
}

impl Queue {
    /// A queue of this length whose groups go to `thread`. Its task ends with the queue, or with the runtime.
    pub(super) fn start(length: usize, thread: thread::Sender<Order>) -> Self {
        let (jobs, waiting) = mpsc::channel(length);
        tokio::spawn(flush(waiting, thread));
        Self { jobs }
    }

    /// Writes, and waits for it to be in the database. When the future is dropped the write may still happen.
    pub(super) async fn write(&self, op: Op) -> Outcome {
        let (reply, outcome) = oneshot::channel();
        self.jobs.send(Job { op, reply }).await.map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?
    }
}

async fn flush(mut waiting: mpsc::Receiver<Job>, thread: thread::Sender<Order>) {
    let mut jobs = Vec::with_capacity(GROUP);
    while waiting.recv_many(&mut jobs, GROUP).await > 0 {
        let mut written = hand_over(&mut jobs, &thread);
        while let Some((replies, done)) = written.take() {
            let outcomes = done.await;
            // The thread is not to wait while answers are given.
            if !waiting.is_empty() {
                waiting.recv_many(&mut jobs, GROUP).await;
                written = hand_over(&mut jobs, &thread);
            }
            // Without outcomes the thread is gone, and dropping the replies says so.
            for (reply, outcome) in replies.into_iter().zip(outcomes.into_iter().flatten()) {
                drop(reply.send(outcome));
            }
        }
    }
}

type Written = (Vec<oneshot::Sender<Outcome>>, oneshot::Receiver<Vec<Outcome>>);

fn hand_over(jobs: &mut Vec<Job>, thread: &thread::Sender<Order>) -> Option<Written> {
    let (ops, replies) = jobs.drain(..).map(|job| (job.op, job.reply)).unzip();
    let (done, outcomes) = oneshot::channel();
    thread.send(Order::Write(Group { ops, done })).ok()?;
    Some((replies, outcomes))
}
