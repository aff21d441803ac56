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
use rusqlite::Connection;
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

use super::{connection, error::closed, options::SqliteOptions};

/// Reads that wait for each thread at work before another is woken. A thread that is at it takes the next read without
/// a switch; waking one more pays only when a queue builds up behind it.
const BACKLOG: usize = 8;

/// A thread that has been at one read for longer than this is not about to take the next.
const LONG: Duration = Duration::from_micros(500);

/// After this long whoever waits for a read looks whether a thread is about to take it.
const LATE: Duration = Duration::from_millis(1);

/// Reads that share a transaction, at most: those that wait when it begins.
const BATCH: usize = 8;

/// A read, and whom to tell; without a connection, why there is none.
type Job = Box<dyn FnOnce(Result<&Connection, &str>) + Send>;

/// Threads with a connection each, started when they are needed. Reads see what was committed when they began, and
/// never wait for a write.
pub(super) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    queue: Mutex<Queue>,
    /// Places in the queue.
    places: Arc<Semaphore>,
    work: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Each with its number.
    jobs: VecDeque<(u64, Job)>,
    /// How many there have been.
    pushed: u64,
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
        let places = Arc::new(Semaphore::new(options.read_queue));
        Arc::new(Self { path, options: options.clone(), queue: Mutex::default(), places, work: Condvar::new() })
    }

    /// Reads inside a transaction: all that `read` sees is of the same moment.
    ///
    /// When the future is dropped the read goes on to its end.
    pub(super) async fn read<R: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())?;
        let (sender, mut answer) = oneshot::channel();
        self.push(Box::new(move |connection| {
            // Whoever asked may have left.
            if !sender.is_closed() {
                let result = connection.map_err(|error| StoreError::Unavailable(error.into())).and_then(read);
                drop(sender.send(result));
            }
            drop(place);
        }))?;
        if let Ok(answer) = timeout(LATE, &mut answer).await {
            return answer.map_err(|_| closed())?;
        }
        // A thread that was about to take it may be at a read that is long after all.
        self.wake_another(&mut self.queue.lock())?;
        answer.await.map_err(|_| closed())?
    }

    fn push(self: &Arc<Self>, job: Job) -> Result<(), StoreError> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(closed());
        }
        queue.pushed += 1;
        let number = queue.pushed;
        queue.jobs.push_back((number, job));
        self.wake_another(&mut queue)
    }

    /// Has another thread read, where the others will not soon.
    fn wake_another(self: &Arc<Self>, queue: &mut Queue) -> Result<(), StoreError> {
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
        while let Some((job, last)) = self.next(number) {
            let opened = match connection.take() {
                Some(connection) => Ok(connection),
                None => connection::for_reading(&self.path, &self.options),
            };
            // A connection on which something went wrong is not used again.
            connection = match opened.and_then(|opened| begin(&opened).map(|()| opened)) {
                Ok(opened) => {
                    // A job that panics says so itself: nobody hears from it.
                    let done = catch_unwind(AssertUnwindSafe(|| {
                        let others = std::iter::from_fn(|| self.another(number, last)).take(BATCH - 1);
                        std::iter::once(job).chain(others).for_each(|job| job(Ok(&opened)));
                    }));
                    (done.is_ok() && end(&opened).is_ok()).then_some(opened)
                }
                Err(error) => {
                    let error = error.to_string();
                    tracing::warn!(error, "the database cannot be read");
                    job(Err(&error));
                    None
                }
            };
        }
    }

    /// Takes a read, or waits for one; `None` when it is closed. With it the number of the last that was asked for before
    /// its transaction begins: up to there, others may share it, and see what was committed before they were asked for.
    fn next(&self, number: usize) -> Option<(Job, u64)> {
        let mut queue = self.queue.lock();
        loop {
            if let Some((_, job)) = queue.jobs.pop_front() {
                queue.at_work[number] = Some(Instant::now());
                return Some((job, queue.pushed));
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

    /// Takes another read that may share the transaction. One by one, so that none waits here behind a long one.
    fn another(&self, number: usize, last: u64) -> Option<Job> {
        let mut queue = self.queue.lock();
        let (_, job) = queue.jobs.pop_front_if(|(job, _)| *job <= last)?;
        queue.at_work[number] = Some(Instant::now());
        Some(job)
    }

    /// Refuses reads from now on; those that wait are still answered.
    pub(super) fn close(&self) {
        self.queue.lock().closed = true;
        self.work.notify_all();
    }
}

fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("BEGIN")?.execute([]).map(|_| ())
}

fn end(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("COMMIT")?.execute([]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_read_does_not_wait_for_a_long_one_that_has_just_begun() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tasks.db");
        Connection::open(&path).unwrap();
        let readers = Readers::new(path, &SqliteOptions::new().with_readers(2));
        // At times the second read comes so late that another thread is woken for it anyway.
        for _ in 0..20 {
            let (end, ends) = std::sync::mpsc::channel::<()>();
            let long = readers.read(move |_| Ok(ends.recv().is_err()));
            let short = async {
                let read = timeout(Duration::from_secs(20), readers.read(|_| Ok(()))).await;
                drop(end);
                read.expect("it waited for the long one")
            };
            let (long, short) = tokio::join!(long, short);
            assert!(long.unwrap());
            short.unwrap();
        }
    }
}
