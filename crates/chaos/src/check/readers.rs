//! Checks the readers: each reader received every event of the log after its start, once and in order, and all readers
//! received the same event for the same id.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Evidence, Violation};
use crate::{
    event::{as_task, is_terminal, state_of},
    history::What,
};

const EACH: &str = "every event, once, in order";
const SAME: &str = "one id, one event";

pub(super) fn check(evidence: &Evidence<'_>, violations: &mut Vec<Violation>) {
    // The first event received under an id, for tasks whose log was deleted.
    let mut seen = BTreeMap::new();
    for (number, told) in &evidence.readers {
        ReaderCheck { number: *number, evidence, violations, told: Vec::new(), from: None, ended: false }
            .follow(told, &mut seen);
    }
}

struct ReaderCheck<'a, 'b> {
    number: u64,
    evidence: &'b Evidence<'a>,
    violations: &'b mut Vec<Violation>,
    /// The ids of the received events.
    told: Vec<u64>,
    /// The reader must receive all events after this id.
    from: Option<u64>,
    /// Whether the reader received the end of the task.
    ended: bool,
}

impl<'a> ReaderCheck<'a, '_> {
    fn follow(mut self, told: &[&'a What], seen: &mut BTreeMap<(&'a str, u64), &'a Value>) {
        let mut its_task = None;
        for what in told {
            match what {
                What::Opened { after, .. } => self.from = self.from.or(*after),
                What::Event { task, id, event, .. } => {
                    self.take(task, *id, event, seen);
                    its_task = Some(&**task);
                }
                _ => {}
            }
        }
        if let Some(task) = its_task {
            self.misses(task);
        }
    }

    fn wrong(&mut self, promise: &'static str, evidence: &str) {
        let evidence = format!("reader {}: {evidence}", self.number);
        self.violations.push(Violation { promise, evidence });
    }

    fn last(&self) -> Option<u64> {
        self.told.last().copied()
    }

    fn take(&mut self, task: &'a str, id: u64, event: &'a Value, seen: &mut BTreeMap<(&'a str, u64), &'a Value>) {
        if self.ended {
            self.wrong("one terminal event, at the end", &format!("task {task}: {id} came after the end"));
        }
        self.ended |= state_of(event).is_some_and(is_terminal);
        let last = self.last();
        if as_task(event).is_some() {
            // A snapshot: the first event, or the state so far. The snapshot can repeat the reader's position, but not
            // precede it.
            if last.is_some_and(|last| id < last) {
                self.wrong(EACH, &format!("task {task}: a snapshot of {id} came after {last:?}"));
            }
            self.from = self.from.or(Some(id));
            if last.is_none() {
                self.told.push(id);
            }
            return;
        }
        if last.is_some_and(|last| id <= last) {
            self.wrong(EACH, &format!("task {task}: {id} came after {last:?}"));
        }
        self.told.push(id);
        let log = self.evidence.tasks.get(task).map(|task| &task.log[..]).unwrap_or_default();
        let other = if log.is_empty() {
            let first: &Value = seen.entry((task, id)).or_insert(event);
            Some(first)
        } else {
            log.iter().find(|(known, _)| *known == id).map(|(_, event)| *event)
        };
        match other {
            Some(other) if other == event => {}
            Some(other) => self.wrong(SAME, &format!("task {task}: {id} is {event} here and {other} elsewhere")),
            None => self.wrong(SAME, &format!("task {task}: {id} is not in the log, but was received: {event}")),
        }
    }

    /// The required events that the reader did not receive, up to the last received event; up to the end of the log if
    /// the reader received the end.
    fn misses(&mut self, task: &str) {
        let (Some(from), Some(last)) = (self.from, self.last()) else { return };
        let log = self.evidence.tasks.get(task).map(|task| &task.log[..]).unwrap_or_default();
        let end = if self.ended { log.last().map_or(last, |(id, _)| *id) } else { last };
        let required = log.iter().map(|(id, _)| *id).filter(|id| (from + 1..=end).contains(id));
        let missing: Vec<_> = required.filter(|id| self.told.binary_search(id).is_err()).collect();
        if !missing.is_empty() {
            self.wrong(
                EACH,
                &format!("task {task}: of the events from {from} to {end}, {missing:?} were not received"),
            );
        }
    }
}
