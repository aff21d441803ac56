//! Checks the webhooks: each event at least once, first deliveries in order, and always the end of the task.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Task, Violation};
use crate::event::{is_terminal, state_of};

const CALLED: &str = "webhooks are called";

pub(super) fn check(
    id: &str,
    task: &Task<'_>,
    delivered: &BTreeMap<&str, Vec<&Value>>,
    violations: &mut Vec<Violation>,
) {
    let mut wrong = |evidence| violations.push(Violation { promise: CALLED, evidence });
    for (hook, whole) in &task.hooks {
        let calls = delivered.get(hook).map(Vec::as_slice).unwrap_or_default();
        if !whole {
            continue;
        }
        if !calls.iter().any(|event| state_of(event).is_some_and(is_terminal)) {
            wrong(format!("task {id}: webhook {hook} did not receive the end"));
        }
        // The first record is the task itself; a webhook can receive an earlier or later snapshot of the task.
        let mut next = calls.iter();
        for (at, event) in task.log.iter().skip(1) {
            // Repeated deliveries can lie in between.
            if !next.any(|call| call == event) {
                wrong(format!("task {id}: webhook {hook} did not receive {at}, or not in order"));
                break;
            }
        }
    }
}
