//! Checks the log of each task, read from its beginning at the end of the run: ascending ids, one end, and the task
//! equals the sum of the events.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Task, Violation};
use crate::event::{as_artifact, is_terminal, state_of, text_of};

const ORDER: &str = "one log, in order";
const END: &str = "one terminal event, at the end";

pub(super) fn check(id: &str, task: &Task<'_>, violations: &mut Vec<Violation>) {
    let mut wrong = |promise, evidence| violations.push(Violation { promise, evidence });
    let Some(last) = task.last else {
        return wrong("no data is lost", format!("task {id} was in an answer and is missing at the end"));
    };
    if !is_terminal(last.state) {
        wrong("every task ends", format!("task {id} is {} at the end", last.state));
    }
    if last.state == "TASK_STATE_FAILED" && last.reason.is_empty() {
        wrong("a failure has a reason", format!("task {id} has none"));
    }
    // A task that began and ended in one step has no log.
    let Some((first, _)) = task.log.first() else { return };
    if *first != 1 {
        wrong(ORDER, format!("the log of task {id} begins with {first}"));
    }
    for pair in task.log.windows(2) {
        if pair[0].0 >= pair[1].0 {
            wrong(ORDER, format!("in the log of task {id}, {} is followed by {}", pair[0].0, pair[1].0));
        }
    }
    let ends: Vec<_> = ends(&task.log).collect();
    let at_last = task.log.last().map(|(id, _)| *id);
    match ends[..] {
        [(at, state)] if Some(at) == at_last => {
            if state != last.state {
                wrong(END, format!("task {id} is {} and its log ends with {state}", last.state));
            }
        }
        [] if !is_terminal(last.state) => {}
        _ => wrong(END, format!("the log of task {id} ends at {at_last:?}, its terminal events are {ends:?}")),
    }
    let (summed, shown) = (sum(&task.log), texts(last.artifacts));
    if summed != shown {
        wrong("a task equals the sum of its log", format!("task {id}: {summed:?} in the log, {shown:?} in the task"));
    }
}

/// The terminal events.
fn ends<'a>(log: &'a [(u64, &Value)]) -> impl Iterator<Item = (u64, &'a str)> {
    log.iter().filter_map(|(id, event)| Some((*id, state_of(event).filter(|state| is_terminal(state))?)))
}

/// The text of each artifact after all events.
fn sum(log: &[(u64, &Value)]) -> BTreeMap<String, String> {
    let mut artifacts = BTreeMap::<String, String>::new();
    for update in log.iter().filter_map(|(_, event)| as_artifact(event)) {
        let artifact = &update["artifact"];
        let text = artifacts.entry(artifact["artifactId"].to_string()).or_default();
        if update["append"] != true {
            text.clear();
        }
        text.push_str(&text_of(artifact));
    }
    artifacts
}

fn texts(artifacts: &Value) -> BTreeMap<String, String> {
    let artifacts = artifacts.as_array().into_iter().flatten();
    artifacts.map(|artifact| (artifact["artifactId"].to_string(), text_of(artifact))).collect()
}
