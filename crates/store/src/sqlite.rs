//! Tasks in an SQLite database.
//!
//! - `append`, `queue`, `writer`: the caller serializes a commit and puts it into the queue. The writer thread executes
//!   the queued writes in groups, one transaction per group.
//! - `readers`, `short`, `read`, `cache`: reads have separate connections. A long read runs on a reader thread, a short
//!   read on the thread of the caller. Recent tasks are read from the cache, without a query.
//! - `log`: the state of the write-ahead log, which the writer publishes for the readers.
//! - `schema`, `columns`: the tables. `append` and `body` are common to all databases.

mod backup;
mod cache;
mod columns;
mod connection;
mod error;
mod files;
mod lock;
mod log;
mod open;
mod options;
mod queue;
mod read;
mod readers;
mod schema;
mod short;
mod store;
mod upkeep;
mod verify;
mod writer;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

pub use backup::BackupError;
pub use error::OpenError;
use nuncio_engine::StoreError;
use nuncio_limit::offload::Offload;
pub use open::SchemaVersion;
pub use options::{SqliteOptions, Synchronous};
use parking_lot::Mutex;

use self::{
    cache::Cache,
    files::Files,
    log::Log,
    queue::{Order, WriteOp, WriteOutput, WriteQueue},
    readers::Readers,
    short::ShortReads,
    writer::Writer,
};
use crate::{append, body};

/// Stores tasks in an SQLite database: one file. While the database is open, a log and a lock file are beside it.
///
/// An acknowledged write survives any end of the process. With [`Synchronous::Full`], an acknowledged write also
/// survives a crash of the machine. Only one store at a time can have a database open.
///
/// A task is a small row with its position in lists and its last snapshot. A large snapshot is in a separate table. Each
/// commit after the snapshot is one row of records. A task that begins and ends in one commit is a single row.
/// Push configurations contain credentials. Therefore the file is created with read permission for its owner only; keep
/// this permission.
///
/// [`close`](nuncio_engine::TaskStore::close) moves the log into the database. Dropping the store waits a few
/// milliseconds for the current write and then releases the database; queued writes are not executed.
pub struct SqliteStore {
    path: PathBuf,
    epoch: u64,
    cache: Arc<Cache>,
    readers: Arc<Readers>,
    short_reads: Arc<ShortReads>,
    queue: WriteQueue,
    offload: Offload,
    is_failing: Arc<AtomicBool>,
    log: Arc<Log>,
    orders: mpsc::Sender<Order>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Must be the last member, because the files must be dropped after all connections.
    files: Files,
}

impl SqliteStore {
    /// Opens the database at this path and updates it to the current schema. If the file does not exist, it is created.
    /// Call this function on a tokio runtime, and use the store on the same runtime.
    ///
    /// # Errors
    ///
    /// [`OpenError`] contains a hint for the operator: the database is in use, was written by a later release, belongs
    /// to another program, or cannot be read or written.
    pub async fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let failed = |source: io::Error| OpenError::Io { path: path.clone(), source };
        let opened = tokio::task::spawn_blocking({
            let (path, options) = (path.clone(), options.clone());
            move || Opened::new(&path, &options)
        });
        let opened = opened.await.map_err(|error| failed(error.into()))??;
        let (orders, received) = mpsc::channel();
        let writer = opened.writer;
        let is_failing = writer.is_failing();
        let thread = std::thread::Builder::new()
            .name("sqlite writer".into())
            .spawn(move || writer.run(&received))
            .map_err(failed)?;
        Ok(Self {
            readers: Readers::new(opened.path.clone(), &options),
            short_reads: opened.short_reads,
            path: opened.path,
            epoch: opened.epoch,
            cache: opened.cache,
            offload: append::offload(),
            queue: WriteQueue::start(options.queue.max(1), orders.clone()),
            is_failing,
            log: opened.log,
            orders,
            thread: Mutex::new(Some(thread)),
            files: opened.files,
        })
    }

    /// The path of the database, absolute and without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the agent that owns the stored tasks, if [`belongs_to`](nuncio_engine::TaskStore::belongs_to) stored
    /// a name.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn agent(&self) -> Result<Option<String>, StoreError> {
        let read = self.readers.read(|connection| {
            let agent = connection.query_row("SELECT agent FROM store", [], |row| row.get::<_, Option<String>>(0));
            agent.map_err(error::store_error)
        });
        read.await
    }

    /// The number of stored tasks, of all callers.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let count = self.readers.read(|connection| {
            let count =
                connection.query_row("SELECT coalesce(sum(tasks), 0) FROM totals", [], |row| row.get::<_, i64>(0));
            count.map_err(error::store_error)
        });
        Ok(u64::try_from(count.await?).unwrap_or_default())
    }

    /// Writes. Returns whether the task to write to exists.
    async fn write(&self, op: WriteOp) -> Result<bool, StoreError> {
        match self.queue.write(op).await? {
            WriteOutput::Found(found) => Ok(found),
            WriteOutput::Committed(_) | WriteOutput::Claimed(_) | WriteOutput::Removed(_) => Ok(true),
        }
    }

    /// Refuses further reads.
    fn stop_reading(&self) {
        self.readers.close();
        self.short_reads.close();
    }

    fn log_must_be_emptied(&self) -> bool {
        self.log.must_be_emptied()
    }

    fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }
}

/// The parts of a store that are created on a thread that may wait for the disk.
struct Opened {
    path: PathBuf,
    epoch: u64,
    cache: Arc<Cache>,
    log: Arc<Log>,
    short_reads: Arc<ShortReads>,
    writer: Writer,
    files: Files,
}

impl Opened {
    fn new(path: &Path, options: &SqliteOptions) -> Result<Self, OpenError> {
        let path = lock::create(path)?;
        let lock = lock::acquire(&path)?;
        let database = lock.database();
        let failed = |source| OpenError::Sqlite { path: path.clone(), source };
        schema::identify(&connection::for_reading(&path, options).map_err(failed)?, &path)?;
        let mut connection = connection::for_writing(&path, options).map_err(failed)?;
        let log = Arc::new(Log::new(connection::has_log(&connection).map_err(failed)?));
        let epoch = schema::prepare(&mut connection, &path)?;
        let checkpoints = connection::for_writing(&path, options).map_err(failed)?;
        let cache = Arc::new(Cache::new(options.cache));
        let writer = Writer::new(connection, checkpoints, Arc::clone(&log), epoch, Arc::clone(&cache), options, lock);
        let writer = writer.map_err(failed)?;
        let short_reads = ShortReads::open(&path, options, Arc::clone(&log)).map_err(failed)?;
        let files = Files::of(&path, database);
        Ok(Self { path, epoch, cache, log, short_reads, writer, files })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.stop_reading();
        // Sending fails if the thread has ended already.
        drop(self.orders.send(Order::Stop));
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("store: the writer thread panicked; queued writes are lost");
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}
