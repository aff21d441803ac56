//! The way of a write to the thread that does it, and of the outcome back: in groups.
//!
//! Whatever waits while one group is being written becomes the next, handed over at once and waking the runtime once
//! when it is done. That is what makes many small commits cheap. Where more wait than a group takes, callers take turns
//! ([`waiting`]). While another program holds the database a group
//! cannot begin: then those of its writes are refused that have waited for long enough, and the others are in the next
//! one.

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

    /// How many bytes are written, nearly.
    fn len(&self) -> usize {
        let Some(append) = self.as_append() else { return 0 };
        append.records.as_ref().map_or(0, String::len)
            + append.snapshot.as_ref().map_or(0, |snapshot| snapshot.body.len())
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

/// What became of a write in a group.
pub(super) enum Answer {
    Outcome(Outcome),
    /// It has yet to be written, and may wait on.
    Again(Op),
}

/// Writes for one transaction.
pub(super) struct Group {
    pub(super) ops: Vec<Op>,
    /// Since when each of them has been waited for.
    pub(super) since: Vec<Instant>,
    pub(super) done: oneshot::Sender<Vec<Answer>>,
}

/// What the thread is told.
pub(super) enum Order {
    Write(Group),
    /// Nobody is left to write for.
    Stop,
}

struct Job {
    op: Op,
    caller: Caller,
}

/// Who waits for a write.
struct Caller {
    since: Instant,
    reply: oneshot::Sender<Outcome>,
}

/// Where writes wait.
pub(super) struct Queue {
    jobs: mpsc::Sender<Job>,
}

impl Queue {
    /// A queue of this length whose groups go to `thread`. Its task ends with the queue, or with the runtime.
    pub(super) fn start(length: usize, thread: thread::Sender<Order>) -> Self {
        // One half waits in the channel, the other for its turn.
        let half = (length / 2).max(1);
        let (jobs, arriving) = mpsc::channel(length - half + 1);
        tokio::spawn(flush(Arrivals { arriving, waiting: Waiting::default(), most: half }, thread));
        Self { jobs }
    }

    /// Writes, and waits for it to be in the database. When the future is dropped the write may still happen.
    pub(super) async fn write(&self, op: Op) -> Outcome {
        let (reply, outcome) = oneshot::channel();
        let caller = Caller { since: Instant::now(), reply };
        self.jobs.send(Job { op, caller }).await.map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?
    }
}

/// Writes on their way into groups.
struct Arrivals {
    arriving: mpsc::Receiver<Job>,
    waiting: Waiting,
    /// How many may wait for their turn.
    most: usize,
}

impl Arrivals {
    /// Waits for a write, if none waits already. `false` when there will be none.
    async fn arrive(&mut self) -> bool {
        if self.waiting.len() == 0 {
            let Some(job) = self.arriving.recv().await else { return false };
            self.waiting.push(job);
        }
        true
    }

    /// The next group of those that are there.
    fn group(&mut self) -> Vec<Job> {
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
            // Without answers the thread is gone, and dropping the callers says so.
            let answers = done.await.into_iter().flatten();
            let mut told = Vec::with_capacity(callers.len());
            let mut again = Vec::new();
            for (caller, answer) in callers.into_iter().zip(answers) {
                match answer {
                    Answer::Outcome(outcome) => told.push((caller, outcome)),
                    Answer::Again(op) => again.push(Job { op, caller }),
                }
            }
            // Before all that came later.
            arrivals.waiting.put_back(again);
            // The thread is not to wait while answers are given.
            let group = arrivals.group();
            if !group.is_empty() {
                written = hand_over(group, &thread);
            }
            for (caller, outcome) in told {
                drop(caller.reply.send(outcome));
            }
        }
    }
}

type Written = (Vec<Caller>, oneshot::Receiver<Vec<Answer>>);

fn hand_over(jobs: Vec<Job>, thread: &thread::Sender<Order>) -> Option<Written> {
    let (ops, callers): (_, Vec<Caller>) = jobs.into_iter().map(|job| (job.op, job.caller)).unzip();
    let since = callers.iter().map(|caller| caller.since).collect();
    let (done, answers) = oneshot::channel();
    thread.send(Order::Write(Group { ops, since, done })).ok()?;
    Some((callers, answers))
}
