//! Checks the stored tasks: each acknowledged message is stored exactly once, and an ended task does not change.

use super::{Task, Violation};
use crate::event::is_terminal;

const STORED: &str = "acknowledged data is stored";

pub(super) fn check(id: &str, task: &Task<'_>, violations: &mut Vec<Violation>) {
    let mut wrong = |promise, evidence| violations.push(Violation { promise, evidence });
    let Some(last) = task.last else { return };
    for message in &task.accepted {
        match last.messages.iter().filter(|stored| stored == message).count() {
            1 => {}
            0 => wrong(STORED, format!("task {id} has no message {message}")),
            many => wrong(STORED, format!("task {id} has message {message} {many} times")),
        }
    }
    for hook in task.hooks.keys() {
        if !last.hooks.iter().any(|stored| stored == hook) {
            wrong(STORED, format!("task {id} has no webhook {hook}"));
        }
    }
    for state in task.seen.iter().filter(|state| is_terminal(state)) {
        if *state != last.state {
            wrong("terminal is terminal", format!("task {id} was {state} and is {}", last.state));
        }
    }
}
