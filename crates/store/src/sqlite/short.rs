//! Short reads, on the thread of the caller. Transferring a short read to another thread and back costs more than the
//! read itself.
//!
//! A thread of the runtime must not block. These rules keep blocking negligible:
//!
//! - A short read reads one row of at most one page, by its key. The read takes some microseconds. The reader threads
//!   load a task that needs more than its row.
//! - A short read waits for no lock. If the database is locked or no connection is free, the reader threads execute the
//!   read.
//! - A short read can wait for the disk, if a page is in no cache. The waiting time is measured. If the waiting time
//!   exceeds a small share of the total time, the reader threads execute all reads until the share is small again.
//!
//! Beginning and ending a transaction takes two file locks. Therefore reads that follow each other closely share a
//! transaction. A shared transaction ends at the first commit after its begin, so that no read sees outdated data. The
//! transaction also ends after a moment, with or without further reads. No transaction is shared while the log must be
//! moved into the database, because this work waits for readers of the log.

use std::{
    mem,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::runtime::Handle;

use super::{connection, log::Log, options::SqliteOptions};

/// A read that takes longer has waited, for the disk or for the processor.
const LONG: Duration = Duration::from_micros(200);

/// At most one part in this number of the total time may be spent waiting.
const SHARE: u32 = 20;

/// The waiting time that is ignored. A thread that lost the processor for a moment is no reason to use the reader
/// threads.
const ALLOWANCE: Duration = Duration::from_millis(20);

/// How long a transaction stays open for the next read. The actual time can be longer, until the runtime executes the
/// task that ends the transaction.
const HELD: Duration = Duration::from_millis(1);

/// The maximum number of reads that share a transaction.
const BURST: u32 = 64;

/// Connections for short reads on any thread.
pub(super) struct ShortReads {
    /// `None` if the reads are closed.
    idle: Mutex<Option<Idle>>,
    log: Arc<Log>,
    begun: Instant,
    /// The time at which the waiting time is balanced, in microseconds since `begun`.
    made_up: AtomicU64,
}

struct Idle {
    /// The connections that no thread uses.
    readers: Vec<Reader>,
    /// The number of connections with an open transaction, in use or not.
    held: usize,
    /// Whether a task is running that ends idle transactions.
    is_watched: bool,
}

struct Reader {
    connection: Connection,
    held: Option<Held>,
    /// The time of the last use.
    used: Option<Instant>,
}

/// A transaction that several reads share.
struct Held {
    /// The number of the last commit before the transaction.
    commit: u64,
    reads: u32,
}

impl ShortReads {
    /// Opens one connection per thread that can run in parallel, at most as many as the options allow readers.
    pub(super) fn open(path: &Path, options: &SqliteOptions, log: Arc<Log>) -> rusqlite::Result<Arc<Self>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let readers = (0..threads.min(options.readers.max(1))).map(|_| {
            let connection = connection::for_reading(path, options)?;
            connection.busy_timeout(Duration::ZERO)?;
            Ok(Reader { connection, held: None, used: None })
        });
        let readers = readers.collect::<rusqlite::Result<Vec<_>>>()?;
        let idle = Mutex::new(Some(Idle { readers, held: 0, is_watched: false }));
        Ok(Arc::new(Self { idle, log, begun: Instant::now(), made_up: AtomicU64::new(0) }))
    }

    /// Reads at once with a single statement. The read sees one moment and all earlier commits. Returns `None` if a
    /// reader thread must execute the read.
    pub(super) fn read<R>(self: &Arc<Self>, read: impl FnOnce(&Connection) -> Option<R>) -> Option<R> {
        let begun = Instant::now();
        if self.made_up.load(Ordering::Relaxed) > self.microsecond(begun + ALLOWANCE * SHARE) {
            return None;
        }
        // The number is read before a transaction begins, so the transaction sees this commit.
        let commit = self.log.last_commit().filter(|_| self.log.may_stay_open());
        let mut reader = self.idle.lock().as_mut()?.readers.pop()?;
        let was_held = reader.held.is_some();
        reader.prepare(commit, begun);
        let found = read(&reader.connection);
        if found.is_none() {
            reader.end_transaction();
        }
        self.give_back(reader, was_held);
        let waited = begun.elapsed();
        if waited > LONG {
            self.make_up_for(begun, waited);
        }
        found
    }

    fn give_back(self: &Arc<Self>, reader: Reader, was_held: bool) {
        let mut idle = self.idle.lock();
        // Otherwise the reads are closed, and dropping the reader closes its connection.
        if let Some(idle) = idle.as_mut() {
            let is_held = reader.held.is_some();
            idle.held = idle.held + usize::from(is_held) - usize::from(was_held);
            if reader.is_usable() {
                idle.readers.push(reader);
            }
            if is_held && !mem::replace(&mut idle.is_watched, true) {
                tokio::spawn(watch(Arc::downgrade(self)));
            }
        }
    }

    /// Ends the transactions of idle connections. Returns whether other transactions are still open.
    fn end_idle_transactions(&self) -> bool {
        let mut idle = self.idle.lock();
        let Some(Idle { readers, held, is_watched }) = idle.as_mut() else { return false };
        readers.retain_mut(|reader| {
            *held -= usize::from(reader.end_transaction());
            reader.is_usable()
        });
        *is_watched = *held > 0;
        *is_watched
    }

    fn make_up_for(&self, begun: Instant, waited: Duration) {
        let (begun, waited) = (self.microsecond(begun), microseconds(waited * SHARE));
        let later = |made_up: u64| made_up.max(begun).saturating_add(waited);
        self.made_up.update(Ordering::Relaxed, Ordering::Relaxed, later);
    }

    /// Refuses further reads.
    pub(super) fn close(&self) {
        // Closing a connection can take a moment. The lock is released first, so that no reader waits for it.
        let idle = self.idle.lock().take();
        drop(idle);
    }

    fn microsecond(&self, at: Instant) -> u64 {
        microseconds(at.saturating_duration_since(self.begun))
    }
}

impl Reader {
    /// Ensures that the next read sees all commits up to now. An open transaction is used if nothing was committed
    /// since its begin. Otherwise the read gets a new transaction. The new transaction stays open only if reads follow
    /// each other closely, because an explicit transaction takes two more statements.
    fn prepare(&mut self, commit: Option<u64>, now: Instant) {
        let follows = self.used.replace(now).is_some_and(|used| now.saturating_duration_since(used) < HELD);
        let is_of_now = |held: &Held| commit == Some(held.commit) && held.reads < BURST;
        if !self.held.as_ref().is_some_and(is_of_now) {
            self.end_transaction();
            let may_begin = follows && commit.is_some() && Handle::try_current().is_ok();
            if may_begin && self.run("BEGIN") {
                self.held = commit.map(|commit| Held { commit, reads: 0 });
            }
        }
        if let Some(held) = &mut self.held {
            held.reads += 1;
        }
    }

    /// Ends the transaction. Returns whether there was a transaction.
    fn end_transaction(&mut self) -> bool {
        let was_held = self.held.take().is_some();
        if was_held {
            self.run("COMMIT");
        }
        was_held
    }

    fn run(&self, sql: &str) -> bool {
        let done = self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        done.inspect_err(|error| tracing::debug!(%error, sql, "store: cannot begin or end a read transaction; the connection is closed")).is_ok()
    }

    /// Whether the connection has no transaction, or only the transaction in `held`.
    fn is_usable(&self) -> bool {
        self.held.is_some() || self.connection.is_autocommit()
    }
}

/// Ends idle transactions until none is open.
async fn watch(reads: Weak<ShortReads>) {
    loop {
        tokio::time::sleep(HELD).await;
        if !reads.upgrade().is_some_and(|reads| reads.end_idle_transactions()) {
            return;
        }
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(readers: usize) -> (tempfile::TempDir, Arc<ShortReads>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tasks.db");
        Connection::open(&path).unwrap();
        let options = SqliteOptions::new().with_readers(readers);
        let reads = ShortReads::open(&path, &options, Arc::new(Log::new(false))).unwrap();
        (directory, reads)
    }

    fn is_made(reads: &Arc<ShortReads>) -> bool {
        reads.read(|_| Some(())).is_some()
    }

    #[test]
    fn a_thread_that_waited_too_long_refuses_reads_for_a_time() {
        let (_directory, reads) = reads(1);
        let begun = Instant::now();
        let mut waited = Duration::ZERO;
        let wait = || {
            let begun = Instant::now();
            while begun.elapsed() < ALLOWANCE / 4 {}
            Some(begun.elapsed())
        };
        while let Some(another) = reads.read(|_| wait()) {
            waited += another;
            assert!(begun.elapsed() < Duration::from_secs(10), "the waiting time is never limited");
        }
        assert!(waited > ALLOWANCE, "{waited:?}");
        while !is_made(&reads) {
            assert!(begun.elapsed() < waited * SHARE + Duration::from_secs(10), "short reads are never allowed again");
            thread::yield_now();
        }
        assert!(begun.elapsed() > waited.saturating_sub(ALLOWANCE) * SHARE);
    }

    #[test]
    fn a_connection_serves_one_read_at_a_time_and_no_read_after_close() {
        let (_directory, reads) = reads(1);
        let inner = reads.read(|_| Some(is_made(&reads)));
        assert_eq!(inner, Some(false));
        assert!(is_made(&reads));
        reads.close();
        assert!(!is_made(&reads));
    }

    /// A database that contains a number. The log registers the commits of `heard` but not the commits of `unheard`.
    struct Watched {
        _directory: tempfile::TempDir,
        reads: Arc<ShortReads>,
        log: Arc<Log>,
        heard: Connection,
        unheard: Connection,
    }

    impl Watched {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("tasks.db");
            let options = SqliteOptions::new().with_readers(1);
            Connection::open(&path).unwrap();
            let mut heard = connection::for_writing(&path, &options).unwrap();
            heard.execute_batch("CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (0)").unwrap();
            let log = Arc::new(Log::new(connection::has_log(&heard).unwrap()));
            log.listen(&mut heard).unwrap();
            let unheard = connection::for_writing(&path, &options).unwrap();
            let reads = ShortReads::open(&path, &options, Arc::clone(&log)).unwrap();
            Self { _directory: directory, reads, log, heard, unheard }
        }

        fn number(&self) -> i64 {
            let number =
                |connection: &Connection| connection.query_row("SELECT number FROM numbers", [], |row| row.get(0)).ok();
            let begun = Instant::now();
            loop {
                // On a busy machine, the reader threads have to read for a while.
                if let Some(number) = self.reads.read(number) {
                    return number;
                }
                assert!(begun.elapsed() < Duration::from_mins(1), "no short read succeeds");
                thread::yield_now();
            }
        }

        fn is_held(&self) -> bool {
            self.reads.idle.lock().as_ref().unwrap().held > 0
        }

        /// Reads until a transaction stays open.
        fn hold(&self) {
            let begun = Instant::now();
            while !self.is_held() {
                self.number();
                assert!(begun.elapsed() < Duration::from_secs(10), "no transaction stays open");
            }
        }
    }

    fn set(connection: &Connection, number: i64) {
        connection.execute("UPDATE numbers SET number = ?1", [number]).unwrap();
    }

    #[tokio::test]
    async fn reads_share_a_transaction_until_something_is_committed() {
        let watched = Watched::new();
        watched.hold();
        // The task that ends transactions cannot run here, so the transaction stays open.
        set(&watched.unheard, 1);
        assert_eq!(watched.number(), 0);
        for number in 2..200 {
            set(&watched.heard, number);
            assert_eq!(watched.number(), number);
            watched.number();
        }
        watched.hold();
        set(&watched.unheard, 1_000);
        let reads = (0..2 * BURST).take_while(|_| watched.number() != 1_000).count();
        assert!(reads <= BURST as usize, "{reads}");
    }

    #[tokio::test]
    async fn an_idle_transaction_is_ended() {
        let watched = Watched::new();
        for _ in 0..3 {
            watched.hold();
            let begun = Instant::now();
            while watched.is_held() {
                assert!(begun.elapsed() < Duration::from_secs(10), "the transaction is never ended");
                tokio::time::sleep(HELD).await;
            }
            let busy = |row: &rusqlite::Row<'_>| row.get::<_, bool>(0);
            assert!(!watched.unheard.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], busy).unwrap());
        }
    }

    #[tokio::test]
    async fn no_transaction_is_held_while_the_log_must_be_moved_or_emptied() {
        let watched = Watched::new();
        for (asks, is_over) in [
            (&(|| watched.log.shorten(i32::MAX)) as &dyn Fn(), &(|| watched.log.shorten(0)) as &dyn Fn()),
            (&|| watched.log.set_must_be_emptied(true), &|| watched.log.set_must_be_emptied(false)),
        ] {
            watched.hold();
            asks();
            for _ in 0..100 {
                watched.number();
                assert!(!watched.is_held());
            }
            is_over();
            watched.hold();
        }
    }

    #[test]
    fn no_transaction_is_held_outside_of_a_runtime() {
        let watched = Watched::new();
        for _ in 0..100 {
            watched.number();
            assert!(!watched.is_held());
        }
    }
}
