//! Connections for reading, each on its own thread, so that waiting for the disk does not block other work.

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

/// The number of waiting reads per active thread from which a further thread is woken. An active thread takes the next
/// read without a thread switch. A further thread is only worth its cost if a queue builds up.
const BACKLOG: usize = 8;

/// A thread that has run one read for longer than this time is not expected to take the next read soon.
const LONG: Duration = Duration::from_micros(500);

/// After this time, the caller of a read checks whether a thread will take the read soon.
const LATE: Duration = Duration::from_millis(1);

/// The maximum number of reads that share a transaction. The reads must be waiting when the transaction begins.
const BATCH: usize = 8;

/// A read that sends its result to the caller. Its argument is the connection, or the error text if there is no
/// connection.
type ReadJob = Box<dyn FnOnce(Result<&Connection, &str>) + Send>;

/// Threads that have one connection each and are started on demand. A read sees what was committed when the read began,
/// and never waits for a write.
pub(super) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    queue: Mutex<ReadQueue>,
    /// The free places in the queue.
    places: Arc<Semaphore>,
    work: Condvar,
}

#[derive(Default)]
struct ReadQueue {
    /// The waiting reads, each with its number.
    jobs: VecDeque<(u64, ReadJob)>,
    /// The number of reads so far.
    pushed: u64,
    /// For each thread, the start time of its current read.
    at_work: Vec<Option<Instant>>,
    idle: usize,
    closed: bool,
}

impl ReadQueue {
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

    /// Reads inside a transaction: all statements of `read` see the same moment.
    ///
    /// If the future is dropped, a read that has started runs to its end.
    pub(super) async fn read<R: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())?;
        let (sender, mut answer) = oneshot::channel();
        self.push(Box::new(move |connection| {
            // The caller may have dropped the future.
            if !sender.is_closed() {
                let result = connection.map_err(|error| StoreError::Unavailable(error.into())).and_then(read);
                drop(sender.send(result));
            }
            drop(place);
        }))?;
        if let Ok(answer) = timeout(LATE, &mut answer).await {
            return answer.map_err(|_| closed())?;
        }
        // The thread that was expected to take this read may have started a long read.
        self.wake_another(&mut self.queue.lock())?;
        answer.await.map_err(|_| closed())?
    }

    fn push(self: &Arc<Self>, job: ReadJob) -> Result<(), StoreError> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return Err(closed());
        }
        queue.pushed += 1;
        let number = queue.pushed;
        queue.jobs.push_back((number, job));
        self.wake_another(&mut queue)
    }

    /// Wakes or starts a thread if the active threads will not take the waiting reads soon.
    fn wake_another(self: &Arc<Self>, queue: &mut ReadQueue) -> Result<(), StoreError> {
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
                Err(error) => {
                    tracing::warn!(%error, "store: cannot start another reader thread; reads wait for the existing threads");
                }
            }
        }
        Ok(())
    }

    /// Executes reads until the readers are closed.
    fn work(&self, number: usize) {
        let mut connection = None;
        while let Some((job, last)) = self.next(number) {
            let opened = match connection.take() {
                Some(connection) => Ok(connection),
                None => connection::for_reading(&self.path, &self.options),
            };
            // A connection is not used again after an error.
            connection = match opened.and_then(|opened| begin(&opened).map(|()| opened)) {
                Ok(opened) => {
                    // The panic hook reports a panic of a job, and the caller sees a closed channel.
                    let done = catch_unwind(AssertUnwindSafe(|| {
                        let others = std::iter::from_fn(|| self.another(number, last)).take(BATCH - 1);
                        std::iter::once(job).chain(others).for_each(|job| job(Ok(&opened)));
                    }));
                    (done.is_ok() && end(&opened).is_ok()).then_some(opened)
                }
                Err(error) => {
                    let error = error.to_string();
                    tracing::warn!(error, "store: cannot read the database; the read fails");
                    job(Err(&error));
                    None
                }
            };
        }
    }

    /// Takes a read, or waits for a read; `None` if the readers are closed. The second value is the number of the last
    /// read that was requested before the transaction begins. Reads up to this number may share the transaction,
    /// because the transaction sees all commits that precede these reads.
    fn next(&self, number: usize) -> Option<(ReadJob, u64)> {
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

    /// Takes another read that may share the transaction. Reads are taken singly, so that no read waits behind a long
    /// read of this thread.
    fn another(&self, number: usize, last: u64) -> Option<ReadJob> {
        let mut queue = self.queue.lock();
        let (_, job) = queue.jobs.pop_front_if(|(job, _)| *job <= last)?;
        queue.at_work[number] = Some(Instant::now());
        Some(job)
    }

    /// Refuses further reads. Waiting reads are still executed.
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
    async fn a_read_does_not_wait_for_a_long_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tasks.db");
        Connection::open(&path).unwrap();
        let readers = Readers::new(path, &SqliteOptions::new().with_readers(2));
        // Sometimes the second read arrives so late that another thread is woken in any case.
        for _ in 0..20 {
            let (end, ends) = std::sync::mpsc::channel::<()>();
            let long = readers.read(move |_| Ok(ends.recv().is_err()));
            let short = async {
                let read = timeout(Duration::from_secs(20), readers.read(|_| Ok(()))).await;
                drop(end);
                read.expect("the read waited for the long read")
            };
            let (long, short) = tokio::join!(long, short);
            assert!(long.unwrap());
            short.unwrap();
        }
    }
}
