//! Moves the write-ahead log into the database, mostly in parallel with writes.
//!
//! A checkpoint mostly waits for the disk. By default, a commit of SQLite waits for the checkpoint, ten milliseconds at
//! a time. Therefore a thread with its own connection moves most of the log first. Then the writer moves the few pages
//! that were added meanwhile, and the log starts again at its beginning.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rusqlite::{Connection, MAIN_DB, wal::CheckpointMode};

use crate::sqlite::{error::is_busy, log::Log};

/// How long the thread rests after a failed checkpoint.
const REST: Duration = Duration::from_millis(200);

/// How long closing the store waits for the thread.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval at which a waiting caller checks whether the thread has finished.
const LOOK: Duration = Duration::from_millis(5);

const IDLE: u8 = 0;
const AT_WORK: u8 = 1;
const DONE: u8 = 2;

pub(super) struct Checkpoints {
    log: Arc<Log>,
    state: Arc<AtomicU8>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The time of the next attempt to empty the log, if the log must be emptied.
    next_try: Instant,
}

impl Checkpoints {
    /// Starts the thread that moves the log. The thread uses the connection `own`.
    pub(super) fn start(log: Arc<Log>, own: Connection) -> Self {
        let state = Arc::new(AtomicU8::new(IDLE));
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::Builder::new().name("sqlite checkpoint".into()).spawn({
            let state = Arc::clone(&state);
            move || run(&own, &woken, &state)
        });
        Self { log, state, wake: Some(wake), thread: thread.ok(), next_try: Instant::now() }
    }

    /// Requests that the log is emptied as soon as no reader uses it.
    pub(super) fn empty_soon(&mut self) {
        self.log.set_must_be_emptied(true);
        self.next_try = Instant::now();
    }

    /// The time until the next call of [`tend`](Self::tend) is needed without a write.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.log.must_be_emptied().then(|| match self.state.load(Ordering::Acquire) {
            IDLE => self.next_try.saturating_duration_since(Instant::now()),
            _ => LOOK,
        })
    }

    /// Waits until the thread has finished, because two concurrent checkpoints fail.
    pub(super) fn wait(&self) {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while self.state.load(Ordering::Acquire) == AT_WORK && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }

    /// Must be called between two transactions of the writer.
    pub(super) fn tend(&mut self, writing: &Connection) {
        let must_be_emptied = self.log.must_be_emptied();
        let is_time = must_be_emptied && Instant::now() >= self.next_try;
        match self.state.load(Ordering::Acquire) {
            IDLE if is_time || self.log.is_long() => {
                self.state.store(AT_WORK, Ordering::Release);
                let is_told = self.wake.as_ref().is_some_and(|wake| wake.try_send(()).is_ok());
                if !is_told {
                    // Without the thread, the writer moves the whole log at the next call.
                    self.state.store(DONE, Ordering::Release);
                }
            }
            DONE if must_be_emptied => {
                match empty(writing) {
                    Ok(is_empty) => self.log.set_must_be_emptied(!is_empty),
                    Err(error) => tracing::debug!(%error, "store: cannot empty the log; trying again later"),
                }
                self.next_try = Instant::now() + REST;
                self.state.store(IDLE, Ordering::Release);
            }
            DONE => {
                match checkpoint(writing, CheckpointMode::PASSIVE) {
                    Ok(left) => self.log.shorten(left),
                    Err(error) => {
                        tracing::debug!(%error, "store: cannot move the log into the database; trying again later");
                    }
                }
                self.state.store(IDLE, Ordering::Release);
            }
            _ => {}
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn run(own: &Connection, woken: &Receiver<()>, state: &AtomicU8) {
    while woken.recv().is_ok() {
        if let Err(error) = checkpoint(own, CheckpointMode::PASSIVE) {
            tracing::debug!(%error, "store: cannot move the log into the database; trying again later");
            std::thread::sleep(REST);
        }
        state.store(DONE, Ordering::Release);
    }
}

/// Moves the log into the database and empties it. Returns `false` if a reader uses the log. The connection does not
/// wait for readers, because other writes wait for this connection.
fn empty(connection: &Connection) -> rusqlite::Result<bool> {
    match connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE) {
        Ok(_) => Ok(true),
        Err(error) if is_busy(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Moves the log into the database. Returns the number of pages that were not moved, because a reader may still use
/// earlier versions of these pages.
pub(super) fn checkpoint(connection: &Connection, mode: CheckpointMode) -> rusqlite::Result<i32> {
    connection.wal_checkpoint_v2(Some(MAIN_DB), mode).map(|(pages, moved)| pages - moved)
}
