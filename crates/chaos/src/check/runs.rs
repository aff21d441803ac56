//! Checks the runs of turns: no turn runs twice without a reason, and no run writes after a takeover by another node.

use std::collections::{BTreeMap, BTreeSet};

use super::{Evidence, Task, Violation};
use crate::{
    event::{as_artifact, text_of},
    history::What,
};

const TWICE: &str = "no turn runs twice";
const EPOCH: &str = "no turn runs twice in one epoch";
const FENCED: &str = "no writes after a takeover";

pub(super) fn check(evidence: &Evidence<'_>, violations: &mut Vec<Violation>) {
    let mut nodes = BTreeMap::<_, Vec<&str>>::new();
    let mut tasks_of = BTreeMap::new();
    let mut epochs = BTreeMap::<_, Vec<_>>::new();
    for what in &evidence.runs {
        let What::Run { run, task, message, node, epoch, began, seen, .. } = what else { continue };
        epochs.entry((&**task, epoch)).or_default().push((began, seen, &**node, &**run));
        nodes.entry((&**task, &**message)).or_default().push(node);
        tasks_of.insert(&**run, &**task);
    }
    for ((task, message), nodes) in nodes {
        let different: BTreeSet<_> = nodes.iter().collect();
        // A server runs an interrupted turn again only if the agent resumes. The same server can run the turn again if
        // the server lost the store or its lease in the meantime.
        if nodes.len() > 1 && !evidence.resumes || different.len() < nodes.len() && evidence.stable {
            let evidence = format!("message {message} of task {task} ran on {nodes:?}");
            violations.push(Violation { promise: TWICE, evidence });
        }
    }
    for ((task, epoch), mut turns) in epochs {
        turns.sort_unstable();
        for pair in turns.windows(2) {
            let [(_, seen, node, run), (began, _, next_node, next)] = pair else { continue };
            // The earlier run may have ended without a record. The end is certain only if its server has ended.
            if node != next_node || began < seen {
                let evidence = format!(
                    "task {task}, epoch {epoch}: run {run} of {node} until {seen}, {next} of {next_node} from {began}"
                );
                violations.push(Violation { promise: EPOCH, evidence });
            }
        }
    }
    for (id, task) in &evidence.tasks {
        follow(id, task, &tasks_of, violations);
    }
}

/// Checks the chunks of a task: each chunk has the name of its run and a number.
fn follow(id: &str, task: &Task<'_>, tasks_of: &BTreeMap<&str, &str>, violations: &mut Vec<Violation>) {
    let mut wrong = |promise, evidence| violations.push(Violation { promise, evidence });
    let mut last: Option<(String, u64)> = None;
    let mut over = BTreeSet::new();
    let chunks = task.log.iter().filter_map(|(at, event)| Some((*at, text_of(&as_artifact(event)?["artifact"]))));
    for (at, line) in chunks.flat_map(|(at, text)| text.lines().map(|line| (at, line.to_owned())).collect::<Vec<_>>()) {
        let Some((run, number)) = line.split_once(' ').and_then(|(run, number)| Some((run, number.parse().ok()?)))
        else {
            continue;
        };
        if tasks_of.get(run).is_some_and(|of| *of != id) {
            wrong(FENCED, format!("task {id}: {at} belongs to run {run} of another task"));
        }
        let expected = match &last {
            Some((same, number)) if same == run => number + 1,
            _ => 1,
        };
        if over.contains(run) {
            wrong(FENCED, format!("task {id}: {at} belongs to run {run}, after the start of another run"));
        } else if number != expected {
            wrong(
                "all chunks of a run, in order",
                format!("task {id}: {at} is chunk {number} of {run}, not {expected}"),
            );
        }
        if let Some((other, _)) = last.replace((run.to_owned(), number)).filter(|(other, _)| other != run) {
            over.insert(other);
        }
    }
}
