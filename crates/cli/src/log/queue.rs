//! Writes log records to stderr. A server has a bounded queue and a thread for the records.

use std::{
    io::{self, Write as _},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

/// The capacity of the queue. Further records are dropped and counted.
const LONGEST: usize = 1024;
/// How long the end of a server waits for its records.
const LAST: Duration = Duration::from_secs(1);

enum Item {
    Record(String),
    /// Answered after all earlier records are written.
    Flush(SyncSender<()>),
}

static QUEUE: OnceLock<SyncSender<Item>> = OnceLock::new();
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// From now on a thread writes the records.
pub(super) fn start() {
    let (sender, receiver) = sync_channel(LONGEST);
    if thread::Builder::new().name("log".to_owned()).spawn(move || drain(&receiver)).is_ok() {
        let _ = QUEUE.set(sender);
    }
}

/// Writes a record directly or through the thread.
pub(super) fn write(record: String) {
    match QUEUE.get() {
        None => put(&record),
        Some(queue) => {
            if queue.try_send(Item::Record(record)).is_err() {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Waits for the thread, if there is one.
pub(super) fn flush() {
    let Some(queue) = QUEUE.get() else { return };
    let (done, is_done) = sync_channel(1);
    if queue.try_send(Item::Flush(done)).is_ok() {
        let _ = is_done.recv_timeout(LAST);
    }
}

fn drain(records: &Receiver<Item>) {
    for item in records {
        match item {
            Item::Record(record) => put(&record),
            Item::Flush(done) => drop(done.send(())),
        }
        match DROPPED.swap(0, Ordering::Relaxed) {
            0 => {}
            dropped => put(&format!("warning: {dropped} log lines were dropped, as stderr was not read\n")),
        }
    }
}

fn put(record: &str) {
    crate::waiting::clear();
    // A record that cannot be written is lost.
    let _ = io::stderr().lock().write_all(record.as_bytes());
}
