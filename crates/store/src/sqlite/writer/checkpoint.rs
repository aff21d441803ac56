//! Moves the write-ahead log into the database, mostly while writes go on.
//!
//! Most of a checkpoint's time is spent waiting for the disk, and SQLite by default lets a commit wait for it, ten
//! milliseconds at a time. So a thread with a connection of its own moves what there is; then the writer moves the
//! little that came meanwhile, and the log begins anew.

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

/// How long the thread rests when it could not move anything.
const REST: Duration = Duration::from_millis(200);

/// How long the end of the store waits for the thread.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is looked whether the thread is done, where somebody waits for it.
const LOOK: Duration = Duration::from_millis(5);

const IDLE: u8 = 0;
const AT_WORK: u8 = 1;
const DONE: u8 = 2;

pub(super) struct Checkpoints {
    log: Arc<Log>,
    state: Arc<AtomicU8>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// When to try to empty the log, where that is to be done.
    next_try: Instant,
}

impl Checkpoints {
    /// Moves this log, with a connection that it takes for itself.
    pub(super) fn start(log: Arc<Log>, own: Connection) -> Self {
        let state = Arc::new(AtomicU8::new(IDLE));
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::Builder::new().name("sqlite checkpoint".into()).spawn({
            let state = Arc::clone(&state);
            move || run(&own, &woken, &state)
        });
        Self { log, state, wake: Some(wake), thread: thread.ok(), next_try: Instant::now() }
    }

    /// Empties the log as soon as nobody reads in it.
    pub(super) fn empty_soon(&mut self) {
        self.log.set_empties(true);
        self.next_try = Instant::now();
    }

    /// When it wants to be called, though nothing is written.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.log.empties().then(|| match self.state.load(Ordering::Acquire) {
            IDLE => self.next_try.saturating_duration_since(Instant::now()),
            _ => LOOK,
        })
    }

    /// Waits until the thread is done: two checkpoints at the same time refuse one another.
    pub(super) fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.state.load(Ordering::Acquire) == AT_WORK && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }

    /// To be called between two transactions of the writer.
    pub(super) fn tend(&mut self, writing: &Connection) {
        let empties = self.log.empties();
        let is_time = empties && Instant::now() >= self.next_try;
        match self.state.load(Ordering::Acquire) {
            IDLE if is_time || self.log.is_long() => {
                self.state.store(AT_WORK, Ordering::Release);
                let is_told = self.wake.as_ref().is_some_and(|wake| wake.try_send(()).is_ok());
                if !is_told {
                    // Without the thread the writer moves it all, the next time.
                    self.state.store(DONE, Ordering::Release);
                }
            }
            DONE if empties => {
                match empty(writing) {
                    Ok(is_empty) => self.log.set_empties(!is_empty),
                    Err(error) => tracing::debug!(%error, "the log could not be emptied"),
                }
                self.next_try = Instant::now() + REST;
                self.state.store(IDLE, Ordering::Release);
            }
            DONE => {
                match checkpoint(writing, CheckpointMode::PASSIVE) {
                    Ok(left) => self.log.shorten(left),
                    Err(error) => tracing::debug!(%error, "the log could not be moved into the database"),
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
            tracing::debug!(%error, "the log could not be moved into the database");
            std::thread::sleep(REST);
        }
        state.store(DONE, Ordering::Release);
    }
}

/// Moves the log into the database and empties it, unless somebody reads in it. The connection waits for nobody, since
/// others wait.
fn empty(connection: &Connection) -> rusqlite::Result<bool> {
    match connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE) {
        Ok(_) => Ok(true),
        Err(error) if is_busy(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Moves the log into the database. Gives how many pages were left, of which somebody may read earlier ones.
pub(super) fn checkpoint(connection: &Connection, mode: CheckpointMode) -> rusqlite::Result<i32> {
    connection.wal_checkpoint_v2(Some(MAIN_DB), mode).map(|(pages, moved)| pages - moved)
}
