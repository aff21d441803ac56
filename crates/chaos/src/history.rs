//! The history of a run, as JSON lines: all actions and all received answers. The checker judges a run by the history.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    time::Instant,
};

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An entry of the history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The time in milliseconds since the start of the run.
    pub(crate) at: u64,
    #[serde(flatten)]
    pub(crate) what: What,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "camelCase")]
pub(crate) enum What {
    /// The start of the run. `resumes`: the agent resumes turns after a crash. `stable`: the store is always reachable,
    /// so that a running node has no reason to run a turn twice.
    Began { seed: u64, resumes: bool, stable: bool },
    /// A fault of a node, a link or a server was applied or reverted.
    Fault { fault: String },
    /// A server acknowledged a message.
    Accepted { task: String, message: String },
    /// An answer contained a task with a state.
    Saw { task: String, state: String },
    /// A webhook was acknowledged; `whole` if the webhook was part of the message that created the task.
    Hooked { task: String, hook: String, whole: bool },
    /// A webhook received a call.
    Delivered { hook: String, event: Value },
    /// A reader opened a stream after the last event that the reader received. The task can still be unknown.
    Opened { reader: u64, task: Option<String>, after: Option<u64> },
    /// A reader received an event.
    Event { reader: u64, task: String, id: u64, event: Value },
    /// The stream of a reader ended. The reader opens another stream, unless the reader received the end of the task.
    Closed { reader: u64, how: String },
    /// A call or a reader had no answer long after the end of all faults.
    Hung { who: String },
    /// A server denied the existence of a task or of a part of it, although a server had returned the task before.
    Denied { task: String, denied: String, by: String },
    /// A server refused an operation temporarily; `again` if the refusal had a retry time.
    Refused { by: String, again: bool, refusal: String },
    /// A program survived the server that had started it.
    Orphan { pid: u32, node: String },
    /// A node exited without a fault.
    Died { node: usize },
    /// A node logged a zombie task: a task that the store assigns to the node, but without a runner.
    Zombie { node: String, line: String },
    /// A program ran a turn, from `began` at least until `seen`, in microseconds.
    Run { run: String, task: String, message: String, node: String, pid: u32, epoch: u64, began: u64, seen: u64 },
    /// A task at the end of the run.
    Final { task: String, state: String, reason: String, messages: Vec<String>, hooks: Vec<String>, artifacts: Value },
    /// An event in the log of a task at the end of the run; the log is read from its beginning.
    Logged { task: String, id: u64, event: Value },
}

/// Collects entries, and writes them to a file.
#[derive(Debug)]
pub(crate) struct History {
    begun: Instant,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    file: BufWriter<File>,
    entries: Vec<Entry>,
}

impl History {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let kept = Kept { file: BufWriter::new(file), entries: Vec::new() };
        Ok(Self { begun: Instant::now(), kept: Mutex::new(kept) })
    }

    pub(crate) fn add(&self, what: What) {
        let at = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let entry = Entry { at, what };
        let mut kept = self.kept.lock();
        if let Ok(line) = serde_json::to_string(&entry) {
            // A write error loses only the file; the checker uses the entries in memory.
            let _ = writeln!(kept.file, "{line}").and_then(|()| kept.file.flush());
        }
        kept.entries.push(entry);
    }

    /// Inspects all entries so far.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&[Entry]) -> T) -> T {
        at(&self.kept.lock().entries)
    }

    /// All entries so far; the file also has them.
    pub(crate) fn take(&self) -> Vec<Entry> {
        let mut kept = self.kept.lock();
        let _ = kept.file.flush();
        std::mem::take(&mut kept.entries)
    }
}

/// Reads the history file of an earlier run.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines().map(|line| serde_json::from_str(line).context("a line of the history")).collect()
}
