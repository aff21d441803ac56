//! Transfers writes to the writer thread in groups, and the outcomes back to the callers.
//!
//! Groups make many small commits cheap. All writes that arrive while a group is written become the next group. A group
//! is handed over at once, and its end wakes the runtime once. If more writes wait than a group can hold, the callers
//! take turns ([`waiting`]).
//!
//! A group cannot begin while another program has locked the database. In this case, the writes that have waited for
//! the busy timeout are refused, and the other writes join the next group.

mod waiting;

use std::{sync::mpsc as thread, time::Instant};

use nuncio_engine::{
    StoreError,
    store::{Committed, Purge, PushSettlement},
};
use nuncio_model::{PushConfigId, Scope, TaskId, Timestamp};
use tokio::sync::{mpsc, oneshot};

use self::waiting::Waiting;
use super::{
    append::{Append, ConfigRow},
    error::closed,
};

/// The maximum number of writes in one transaction.
const GROUP: usize = 512;

#[derive(Debug)]
pub(super) enum WriteOp {
    /// A commit to a log.
    Append(Box<Append>),
    /// Claims a task that an earlier process, or a runner of this process that has ended, owned.
    Claim { scope: Scope, id: TaskId },
    /// Stores a push configuration as JSON. `delivered` is the last record that the webhook must not receive.
    PutConfig { scope: Scope, task: TaskId, config: ConfigRow, delivered: u64 },
    /// Deletes a push configuration.
    DeleteConfig { scope: Scope, task: TaskId, id: PushConfigId },
    /// Stores the result of a delivery.
    Settle(Box<PushSettlement>),
    /// Deletes tasks. With `purge`, a task is deleted only if it still meets the conditions of the purge.
    Delete { tasks: Vec<Candidate>, purge: Option<Purge> },
    /// Deletes some of the remaining records of deleted tasks.
    Sweep,
    /// Deletes some of the records of tasks that were released before a time, of at most `limit` tasks.
    Compact { before: Timestamp, limit: usize },
    /// Deletes some of the message ids that were stored before a time.
    Forget { before: Timestamp },
    /// Moves the log into the database and empties the log when no reader uses the log.
    EmptyLog,
    /// Stores the name of the agent that is served.
    Serve(String),
    /// Checks whether writing works.
    Probe,
    /// Moves the log into the database and ends the writer thread.
    Close,
}

impl WriteOp {
    pub(super) fn as_append(&self) -> Option<&Append> {
        match self {
            Self::Append(append) => Some(append),
            _ => None,
        }
    }

    /// The approximate number of bytes that the write stores.
    fn len(&self) -> usize {
        let Some(append) = self.as_append() else { return 0 };
        append.records.as_ref().map_or(0, String::len)
            + append.snapshot.as_ref().map_or(0, |snapshot| snapshot.body.len())
    }

    /// The cached tasks that the write changes.
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

/// A task to delete.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) task: i64,
    pub(super) scope: Scope,
    pub(super) id: TaskId,
}

/// The result of a successful write.
#[derive(Debug, Clone, Copy)]
pub(super) enum WriteOutput {
    Committed(Committed),
    /// Whether the task to write to exists.
    Found(bool),
    /// The task exists. The value is whether the task was left running.
    Claimed(bool),
    Removed(Removed),
}

/// The numbers of deleted items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// Tasks, or tasks of which all records were deleted.
    pub(super) tasks: usize,
    /// Rows of records.
    pub(super) rows: usize,
}

pub(super) type WriteOutcome = Result<WriteOutput, StoreError>;

/// The answer to one write of a group.
pub(super) enum Answer {
    Outcome(WriteOutcome),
    /// The write was not executed and can wait for the next group.
    Again(WriteOp),
}

/// The writes of one transaction.
pub(super) struct Group {
    pub(super) ops: Vec<WriteOp>,
    /// The time since when the caller of each write has waited.
    pub(super) since: Vec<Instant>,
    pub(super) done: oneshot::Sender<Vec<Answer>>,
}

/// An order to the writer thread.
pub(super) enum Order {
    Write(Group),
    /// The store was dropped.
    Stop,
}

struct WriteJob {
    op: WriteOp,
    caller: Caller,
}

/// The caller that waits for a write.
struct Caller {
    since: Instant,
    reply: oneshot::Sender<WriteOutcome>,
}

/// The queue of writes.
pub(super) struct WriteQueue {
    jobs: mpsc::Sender<WriteJob>,
}

impl WriteQueue {
    /// Starts a queue of this length that sends its groups to `thread`. The task of the queue ends with the queue or
    /// with the runtime.
    pub(super) fn start(length: usize, thread: thread::Sender<Order>) -> Self {
        // Half of the queue is the channel. The other half are the writes that wait for the turn of their caller.
        let half = (length / 2).max(1);
        let (jobs, arriving) = mpsc::channel(length - half + 1);
        tokio::spawn(flush(Arrivals { arriving, waiting: Waiting::default(), most: half }, thread));
        Self { jobs }
    }

    /// Queues a write and waits until the write is in the database. If the future is dropped, the write may still be
    /// executed.
    pub(super) async fn write(&self, op: WriteOp) -> WriteOutcome {
        let (reply, outcome) = oneshot::channel();
        let caller = Caller { since: Instant::now(), reply };
        self.jobs.send(WriteJob { op, caller }).await.map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?
    }
}

/// Writes that are not yet in a group.
struct Arrivals {
    arriving: mpsc::Receiver<WriteJob>,
    waiting: Waiting,
    /// The maximum number of writes in `waiting`.
    most: usize,
}

impl Arrivals {
    /// Waits for a write, if no write waits already. Returns `false` if the queue is closed.
    async fn arrive(&mut self) -> bool {
        if self.waiting.len() == 0 {
            let Some(job) = self.arriving.recv().await else { return false };
            self.waiting.push(job);
        }
        true
    }

    /// Takes the next group of the writes that have arrived.
    fn group(&mut self) -> Vec<WriteJob> {
        while self.waiting.len() < self.most
            && let Ok(job) = self.arriving.try_recv()
        {
            self.waiting.push(job);
        }
        self.waiting.group()
    }
}

async fn flush(mut arrivals: Arrivals, thread: thread::Sender<Order>) {
    while arrivals.arrive().await {
        let mut written = hand_over(arrivals.group(), &thread);
        while let Some((callers, done)) = written.take() {
            // Without answers, the thread has ended. Dropping the callers informs them.
            let answers = done.await.into_iter().flatten();
            let mut answered = Vec::with_capacity(callers.len());
            let mut again = Vec::new();
            for (caller, answer) in callers.into_iter().zip(answers) {
                match answer {
                    Answer::Outcome(outcome) => answered.push((caller, outcome)),
                    Answer::Again(op) => again.push(WriteJob { op, caller }),
                }
            }
            // These writes precede all writes that arrived later.
            arrivals.waiting.put_back(again);
            // The next group is handed over first, so that the writer thread does not wait while the answers are sent.
            let group = arrivals.group();
            if !group.is_empty() {
                written = hand_over(group, &thread);
            }
            for (caller, outcome) in answered {
                drop(caller.reply.send(outcome));
            }
        }
    }
}

type PendingAnswers = (Vec<Caller>, oneshot::Receiver<Vec<Answer>>);

fn hand_over(jobs: Vec<WriteJob>, thread: &thread::Sender<Order>) -> Option<PendingAnswers> {
    let (ops, callers): (_, Vec<Caller>) = jobs.into_iter().map(|job| (job.op, job.caller)).unzip();
    let since = callers.iter().map(|caller| caller.since).collect();
    let (done, answers) = oneshot::channel();
    thread.send(Order::Write(Group { ops, since, done })).ok()?;
    Some((callers, answers))
}
