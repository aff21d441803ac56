//! Connections for reading, on threads of their own, where waiting for the disk holds up nobody.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use nuncio_engine::StoreError;
use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, Transaction};
use tokio::sync::oneshot;

use super::{
    connection,
    error::{closed, store_error},
    options::SqliteOptions,
};

/// Reads that wait for each thread at work before another is woken. A thread that is at it takes the next read without
/// a switch; waking one more pays only when a queue builds up behind it.
const BACKLOG: usize = 8;

/// A thread that has been at one read for longer than this is not about to take the next.
const LONG: Duration = Duration::from_micros(500);

type Job = Box<dyn FnOnce(&mut Connection) -> Result<(), StoreError> + Send>;

/// Threads with a connection each, started when they are needed. Reads see what was committed when they began, and
/// never wait for a write.
pub(super) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    queue: Mutex<Queue>,
    work: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Since when each thread has been at its read, if it is.
    at_work: Vec<Option<Instant>>,
    idle: usize,
    closed: bool,
}

impl Queue {
    fn is_backlogged(&self) -> bool {
        let now = Instant::now();
        let soon = self.at_work.iter().flatten().filter(|since| now.duration_since(**since) < LONG).count();
        self.jobs.len() > soon * BACKLOG
    }
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: &SqliteOptions) -> Arc<Self> {
        Arc::new(Self { path, options: options.clone(), queue: Mutex::default(), work: Condvar::new() })
    }

    /// Reads in one transaction: all that `read` sees is of the same moment.
    ///
    /// When the future is dropped the read goes on to its end.
    pub(super) async fn read<R: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Transaction<'_>) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        let (sender, answer) = oneshot::channel();
        self.push(Box::new(move |connection| {
            if sender.is_closed() {
                return Ok(());
            }
            let transaction = connection.transaction().map_err(store_error)?;
            // Whoever asked may have left.
            drop(sender.send(read(&transaction)));
            transaction.commit().map_err(store_error)
        }))?;
        answer.await.map_err(|_| closed())?
    }

    fn push(self: &Arc<Self>, job: Job) -> Result<(), StoreError> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(closed());
        }
        queue.jobs.push_back(job);
        if !queue.is_backlogged() {
            return Ok(());
        }
        if queue.idle > 0 {
            self.work.notify_one();
        } else if queue.at_work.len() < self.options.readers.max(1) {
            let (readers, number) = (Arc::clone(self), queue.at_work.len());
            let started = thread::Builder::new().name("sqlite reader".to_owned()).spawn(move || readers.work(number));
            match started {
                Ok(_) => queue.at_work.push(Some(Instant::now())),
                Err(error) if number == 0 => {
                    queue.jobs.clear();
                    return Err(StoreError::Unavailable(error.into()));
                }
                Err(error) => tracing::warn!(%error, "no thread for another reader"),
            }
        }
        Ok(())
    }

    /// Reads until it is closed.
    fn work(&self, number: usize) {
        let mut connection = None;
        while let Some(job) = self.next(number) {
            let opened = match connection.take() {
                Some(connection) => Ok(connection),
                None => connection::for_reading(&self.path, &self.options),
            };
            match opened.map_err(store_error) {
                // A connection on which something went wrong is not used again. A job that is dropped says so itself.
                Ok(mut opened) => {
                    let done = catch_unwind(AssertUnwindSafe(|| job(&mut opened)));
                    connection = done.is_ok_and(|done| done.is_ok()).then_some(opened);
                }
                Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "the database does not open"),
            }
        }
    }

    fn next(&self, number: usize) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                queue.at_work[number] = Some(Instant::now());
                return Some(job);
            }
            queue.at_work[number] = None;
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            self.work.wait(&mut queue);
            queue.idle -= 1;
        }
    }

    /// Refuses reads from now on; those that wait are still answered.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.work.notify_all();
    }
}
