//! The checker: a pure function from a history to violations, so that hand-written histories can test the checker.

mod hooks;
mod logs;
mod readers;
mod runs;
mod stored;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

use crate::{
    event::is_terminal,
    history::{Entry, What},
};

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The short name of the promise.
    pub(crate) promise: &'static str,
    /// The evidence.
    pub(crate) evidence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.evidence)
    }
}

/// The facts of a history about one task.
#[derive(Debug, Default)]
struct Task<'a> {
    last: Option<Last<'a>>,
    /// The visible log from the beginning; empty if the log was deleted.
    log: Vec<(u64, &'a Value)>,
    /// Acknowledged messages.
    accepted: BTreeSet<&'a str>,
    /// The states in answers.
    seen: Vec<&'a str>,
    /// Acknowledged webhooks; `true` if the webhook must receive the whole log.
    hooks: BTreeMap<&'a str, bool>,
}

/// A task at the end of the run.
#[derive(Debug, Clone, Copy)]
struct Last<'a> {
    state: &'a str,
    reason: &'a str,
    messages: &'a [String],
    hooks: &'a [String],
    artifacts: &'a Value,
}

/// The facts of a history, by subject.
#[derive(Debug, Default)]
struct Evidence<'a> {
    resumes: bool,
    stable: bool,
    tasks: BTreeMap<&'a str, Task<'a>>,
    readers: BTreeMap<u64, Vec<&'a What>>,
    runs: Vec<&'a What>,
    delivered: BTreeMap<&'a str, Vec<&'a Value>>,
    /// Entries that are violations by themselves.
    plain: Vec<Violation>,
}

/// Checks a history.
pub(crate) fn check(entries: &[Entry]) -> Vec<Violation> {
    let evidence = gather(entries);
    let mut violations = evidence.plain.clone();
    for (id, task) in &evidence.tasks {
        logs::check(id, task, &mut violations);
        stored::check(id, task, &mut violations);
        hooks::check(id, task, &evidence.delivered, &mut violations);
    }
    readers::check(&evidence, &mut violations);
    runs::check(&evidence, &mut violations);
    violations
}

fn gather(entries: &[Entry]) -> Evidence<'_> {
    let mut all = Evidence::default();
    let mut plain = Vec::new();
    let mut wrong = |promise, evidence| plain.push(Violation { promise, evidence });
    for Entry { what, .. } in entries {
        match what {
            What::Began { resumes, stable, .. } => (all.resumes, all.stable) = (*resumes, *stable),
            What::Fault { .. } | What::Refused { again: true, .. } => {}
            What::Accepted { task, message } => drop(all.task(task).accepted.insert(message)),
            What::Saw { task, state } => all.task(task).seen.push(state),
            What::Hooked { task, hook, whole } => drop(all.task(task).hooks.insert(hook, *whole)),
            What::Delivered { hook, event } => all.delivered.entry(hook).or_default().push(event),
            What::Opened { reader, .. } | What::Closed { reader, .. } => {
                all.readers.entry(*reader).or_default().push(what);
            }
            What::Event { reader, task, .. } => {
                all.task(task);
                all.readers.entry(*reader).or_default().push(what);
            }
            What::Hung { who } => wrong("every call and reader ends", format!("{who} still waits")),
            What::Denied { task, denied, by } => {
                wrong("no data is lost", format!("task {task}: {by}, denied: {denied}"));
            }
            What::Orphan { pid, node } => {
                wrong("no program survives its server", format!("process {pid} of {node} is still running"));
            }
            What::Zombie { node, line } => wrong("every running task has a runner", format!("node {node}: {line}")),
            What::Refused { by, refusal, .. } => {
                wrong("failed calls can be retried", format!("{by}: {refusal}"));
            }
            What::Died { node } => wrong("nodes keep running", format!("node {node} exited on its own")),
            What::Run { .. } => all.runs.push(what),
            What::Final { task, state, reason, messages, hooks, artifacts } => {
                all.task(task).last = Some(Last { state, reason, messages, hooks, artifacts });
            }
            What::Logged { task, id, event } => all.task(task).log.push((*id, event)),
        }
    }
    all.plain = plain;
    all
}

impl<'a> Evidence<'a> {
    fn task(&mut self, id: &'a str) -> &mut Task<'a> {
        self.tasks.entry(id).or_default()
    }
}

/// A summary of a history in one line.
pub(crate) fn summary(entries: &[Entry]) -> String {
    let count = |is: fn(&What) -> bool| entries.iter().filter(|entry| is(&entry.what)).count();
    let events = count(|what| matches!(what, What::Event { .. }));
    let faults = count(|what| matches!(what, What::Fault { fault } if !fault.starts_with("over: ")));
    let resumed = count(|what| matches!(what, What::Opened { after: Some(_), .. }));
    let tasks = count(|what| matches!(what, What::Final { .. }));
    let failed = count(|what| matches!(what, What::Final { state, .. } if state == "TASK_STATE_FAILED"));
    let accepted = count(|what| matches!(what, What::Accepted { .. }));
    let runs = count(|what| matches!(what, What::Run { .. }));
    let delivered = count(|what| matches!(what, What::Delivered { .. }));
    let refused = count(|what| matches!(what, What::Refused { .. }));
    let readers: BTreeSet<_> = entries.iter().filter_map(|entry| reader_of(&entry.what)).collect();
    let ended = count(|what| matches!(what, What::Final { state, .. } if is_terminal(state)));
    format!(
        "{faults} faults; {tasks} tasks, {ended} ended, {failed} failed; {accepted} messages acknowledged, \
         {refused} put off, {runs} runs; \
         {} readers, {events} events, {resumed} streams resumed; {delivered} webhook calls",
        readers.len()
    )
}

fn reader_of(what: &What) -> Option<u64> {
    if let What::Opened { reader, .. } = what { Some(*reader) } else { None }
}

#[cfg(test)]
mod tests;
