//! What was done and what everybody was told, as lines of JSON: the evidence that the checker judges.

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
    /// When, in milliseconds since the run began.
    pub(crate) at: u64,
    #[serde(flatten)]
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "camelCase")]
pub(crate) enum What {
    /// The run began: whether the agent resumes, and whether the store is always at hand, so that a node that runs has
    /// no reason to run anything again.
    Began { seed: u64, resumes: bool, stable: bool },
    /// A node, a link or a server was hurt or healed.
    Fault { fault: String },
    /// A server said that it has a message.
    Accepted { task: String, message: String },
    /// An answer showed a task in a state.
    Saw { task: String, state: String },
    /// A webhook was acknowledged; `whole` if it came with the task.
    Hooked { task: String, hook: String, whole: bool },
    /// A webhook was called.
    Delivered { hook: String, event: Value },
    /// A reader opened a stream of a task, which it may not know yet, after the last event that it saw.
    Opened { reader: u64, task: Option<String>, after: Option<u64> },
    /// A reader was told this.
    Event { reader: u64, task: String, id: u64, event: Value },
    /// A reader's stream ended; it goes on with another unless it has seen the end.
    Closed { reader: u64, how: String },
    /// A call or a reader had no answer long after all faults were over.
    Hung { who: String },
    /// A server denied something of a task that it had shown.
    Denied { task: String, denied: String, by: String },
    /// A server could not do what it was asked; whether it said when to try again.
    Refused { by: String, again: bool, refusal: String },
    /// A program outlived the server that had started it.
    Orphan { pid: u32, node: String },
    /// A node ended by itself.
    Died { node: usize },
    /// A node found a task that it was at work on, by what the store has, and had no runner for; it logged this.
    Stray { node: String, line: String },
    /// A program ran a turn: from when, and until when at least it was at work, in microseconds.
    Run { run: String, task: String, message: String, node: String, pid: u32, epoch: u64, began: u64, seen: u64 },
    /// A task at the end.
    Final { task: String, state: String, reason: String, messages: Vec<String>, hooks: Vec<String>, artifacts: Value },
    /// An event of the log of a task at the end, as it is read from its beginning.
    Logged { task: String, id: u64, event: Value },
}

/// Takes entries, and keeps them in a file.
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
            // A file that cannot be written costs the file; what is judged is in memory.
            let _ = writeln!(kept.file, "{line}").and_then(|()| kept.file.flush());
        }
        kept.entries.push(entry);
    }

    /// Looks at everything so far.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&[Entry]) -> T) -> T {
        at(&self.kept.lock().entries)
    }

    /// Everything so far; the file has it too.
    pub(crate) fn take(&self) -> Vec<Entry> {
        let mut kept = self.kept.lock();
        let _ = kept.file.flush();
        std::mem::take(&mut kept.entries)
    }
}

/// Reads a history that was kept.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines().map(|line| serde_json::from_str(line).context("a line of the history")).collect()
}
