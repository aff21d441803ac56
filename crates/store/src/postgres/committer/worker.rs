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
    /// Writes until a close job arrives or the committer is dropped.
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

    /// Waits for a job. Returns `false` if the queue is closed.
    async fn receive(&mut self) -> bool {
        let job = self.jobs.recv().await;
        let is_there = job.is_some();
        self.waiting.extend(job);
        is_there
    }

    /// Takes waiting jobs from the queue, at most four groups.
    fn fill(&mut self) {
        while self.waiting.len() < 4 * Batch::MOST {
            let Ok(job) = self.jobs.try_recv() else { break };
            self.waiting.push_back(job);
        }
    }

    /// Answers the jobs whose deadline has passed.
    fn expire(&mut self) {
        let now = Instant::now();
        while self.waiting.front().is_some_and(|job| job.deadline <= now) {
            if let Some(job) = self.waiting.pop_front() {
                job.answer(Err(unavailable("cannot reach the database in time")));
            }
        }
    }

    /// Returns the connection. Without a connection, makes one attempt to connect. After a failed attempt, pauses and
    /// returns `None`. Meanwhile, jobs whose deadline passes are answered.
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
                // All statements of the previous connection have ended with this connection.
                self.doubt.resolve();
                let session = Arc::new(session);
                self.session = Some(Arc::clone(&session));
                Some(session)
            }
            Some(failed) => {
                let rest = Instant::now() + self.failures.next_delay(&RECONNECT);
                if let Ok(Err(error)) = failed {
                    tracing::warn!(%error, "store: cannot connect to the database for commits; trying again");
                }
                self.is_failing.store(true, Ordering::Relaxed);
                self.tend_until(sleep_until(rest)).await;
                None
            }
            None => None,
        }
    }

    /// Waits for a future. Meanwhile, jobs whose deadline passes are answered. Returns `None` if the committer was
    /// dropped.
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

/// Opens the only connection of this node for commits. A previous connection that still exists on the server is
/// terminated first, and the function waits for its end.
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
    // With these settings, the server processes rows in the order of the input. This order prevents deadlocks between
    // nodes.
    let plans = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off; \
                 SET enable_bitmapscan = off";
    session.client().batch_execute(plans).await?;
    // A group passes through two intermediate lists. Lists that exceed `work_mem` are written to the disk.
    session.client().batch_execute("SET work_mem = '64MB'").await?;
    // After an unknown commit, its data can be visible before the data is safe: for example while a lost standby has
    // not confirmed it. This write returns only when all earlier commits are safe too.
    match session.query(Sql::Probe, &[]).await {
        Ok(_) => Ok(session),
        Err(Failure::Failed(error)) if is_full(&error) => Ok(session),
        Err(failure) => {
            connector.servers.try_another_first();
            Err(failure.into())
        }
    }
}

/// Copies an error, so that several jobs can be answered with the error.
pub(super) fn copy(error: &StoreError) -> StoreError {
    let text = match error {
        StoreError::Full(source)
        | StoreError::TooLarge(source)
        | StoreError::Unavailable(source)
        | StoreError::Corrupt(source) => source.to_string(),
        other => other.to_string(),
    };
    match error {
        StoreError::Full(_) => StoreError::Full(text.into()),
        StoreError::TooLarge(_) => StoreError::TooLarge(text.into()),
        StoreError::Corrupt(_) => StoreError::Corrupt(text.into()),
        StoreError::Conflict => StoreError::Conflict,
        _ => StoreError::Unavailable(text.into()),
    }
}
