//! The task that writes.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nuncio_engine::StoreError;
use nuncio_limit::{Failures, sleep};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{Done, Job, Op, batch::Batch, doubt::Doubt};
use crate::postgres::{
    error::{is_full, unavailable},
    session::{Connector, Failure, NotConnected, RECONNECT, Session},
    statements::Sql,
};

pub(super) struct Worker {
    pub(super) connector: Arc<Connector>,
    pub(super) lock: i64,
    pub(super) session: Option<Arc<Session>>,
    pub(super) failures: Failures,
    pub(super) jobs: mpsc::Receiver<Job>,
    pub(super) waiting: VecDeque<Job>,
    pub(super) doubt: Arc<Doubt>,
    pub(super) is_failing: Arc<AtomicBool>,
    pub(super) has_written: Arc<AtomicBool>,
}

impl Worker {
    /// Writes until it is told to stop, or nobody is left who could.
    pub(super) async fn run(mut self) {
        loop {
            if self.waiting.is_empty() && !self.doubt.exists() && !self.receive().await {
                return;
            }
            let Some(session) = self.connected().await else {
                if self.jobs.is_closed() {
                    return;
                }
                continue;
            };
            self.fill();
            self.expire();
            let batch = Batch::take(&mut self.waiting);
            let closes = batch.closes();
            let written = batch.write(&session, &self.doubt).await;
            self.has_written.store(true, Ordering::Relaxed);
            self.is_failing.store(written.is_failing, Ordering::Relaxed);
            if written.is_broken {
                self.session = None;
            }
            if closes {
                return;
            }
        }
    }

    /// Waits for a job; `false` when there will be none.
    async fn receive(&mut self) -> bool {
        let job = self.jobs.recv().await;
        let is_there = job.is_some();
        self.waiting.extend(job);
        is_there
    }

    /// Takes what waits, as much as a few groups.
    fn fill(&mut self) {
        while self.waiting.len() < 4 * Batch::MOST {
            let Ok(job) = self.jobs.try_recv() else { break };
            self.waiting.push_back(job);
        }
    }

    /// Answers those whose time is over before they were begun.
    fn expire(&mut self) {
        let now = Instant::now();
        while self.waiting.front().is_some_and(|job| job.deadline <= now) {
            if let Some(job) = self.waiting.pop_front() {
                job.answer(Err(unavailable("the database could not be reached in time")));
            }
        }
    }

    /// The connection. Where there is none, makes one attempt and rests, and answers meanwhile whose time is over.
    async fn connected(&mut self) -> Option<Arc<Session>> {
        if let Some(session) = self.session.as_ref().filter(|session| !session.is_closed()) {
            return Some(Arc::clone(session));
        }
        self.session = None;
        let (connector, lock) = (Arc::clone(&self.connector), self.lock);
        let attempt = tokio::spawn(async move { connect(&connector, lock).await });
        let connected = self.tend_until(attempt).await;
        match connected {
            Some(Ok(Ok(session))) => {
                self.failures.reset();
                // Whatever was under way on the connection before has ended with it.
                self.doubt.resolve();
                let session = Arc::new(session);
                self.session = Some(Arc::clone(&session));
                Some(session)
            }
            Some(failed) => {
                let rest = Instant::now() + self.failures.next_delay(&RECONNECT);
                if let Ok(Err(error)) = failed {
                    tracing::warn!(%error, "the database cannot be reached for commits");
                }
                self.is_failing.store(true, Ordering::Relaxed);
                self.tend_until(sleep_until(rest)).await;
                None
            }
            None => None,
        }
    }

    /// Waits for something, and answers meanwhile whose time is over. Nothing, when nobody is left to write for.
    async fn tend_until<T>(&mut self, what: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(what);
        loop {
            let next = self.waiting.front().map(|job| job.deadline);
            tokio::select! {
                done = &mut what => return Some(done),
                () = sleep::until(next) => self.expire(),
                job = self.jobs.recv(), if self.waiting.len() < 4 * Batch::MOST => match job {
                    Some(Job { op: Op::Close, reply, .. }) => {
                        drop(reply.send(Ok(Done::Nothing)));
                        self.jobs.close();
                    }
                    Some(job) => self.waiting.push_back(job),
                    None => return None,
                },
            }
        }
    }
}

/// A connection that is the only one of this node for commits: one before it that the server still has is ended first,
/// and waited for.
async fn connect(connector: &Connector, lock: i64) -> Result<Session, NotConnected> {
    let session = connector.connect().await?;
    let ending = async {
        let client = session.client();
        client
            .execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted \
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
                 AND (classid::int8 << 32 | objid::int8) = $1::int8 AND objsubid = 1 AND pid <> pg_backend_pid()",
                &[&lock],
            )
            .await?;
        client.execute("SELECT pg_advisory_lock($1::int8)", &[&lock]).await
    };
    tokio::time::timeout(connector.options.answer_timeout, ending).await??;
    // They make a plan that takes rows in the order of the input, which is what keeps two nodes from waiting for each
    // other.
    let plans = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; \
                 SET enable_bitmapscan = off";
    session.client().batch_execute(plans).await?;
    // A group passes through two lists on its way into the tables, which go by way of the disk where they take more.
    session.client().batch_execute("SET work_mem = '64MB'").await?;
    // What an unknown commit has left may be seen before it is where the server promises it to be: on a standby, which
    // the server may have lost for good. Who waits for a later one has waited for all before it.
    match session.query(Sql::Probe, &[]).await {
        Ok(_) => Ok(session),
        Err(Failure::Told(error)) if is_full(&error) => Ok(session),
        Err(failure) => {
            connector.servers.try_another_first();
            Err(failure.into())
        }
    }
}

/// Something that a job can be answered with more than once.
pub(super) fn copy(error: &StoreError) -> StoreError {
    let text = match error {
        StoreError::Full(source) | StoreError::Unavailable(source) | StoreError::Corrupt(source) => source.to_string(),
        other => other.to_string(),
    };
    match error {
        StoreError::Full(_) => StoreError::Full(text.into()),
        StoreError::Corrupt(_) => StoreError::Corrupt(text.into()),
        StoreError::Conflict => StoreError::Conflict,
        _ => StoreError::Unavailable(text.into()),
    }
}
