//! Hand-written histories: a correct history, and for each promise a history that breaks the promise.

use serde_json::json;

use super::*;

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "status": {"state": state}}})
}

fn chunk(text: &str, append: bool) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "append": append, "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

fn snapshot(state: &str) -> Value {
    json!({"task": {"id": "t", "status": {"state": state}}})
}

const DONE: &str = "TASK_STATE_COMPLETED";
const WORKING: &str = "TASK_STATE_WORKING";

/// A log whose third record is a message, which is not part of the visible log.
fn log() -> Vec<(u64, Value)> {
    let events = [snapshot("TASK_STATE_SUBMITTED"), chunk("r 1\n", false), chunk("r 2\n", true), status(DONE)];
    [1, 2, 4, 5].into_iter().zip(events).collect()
}

fn told(reader: u64, id: u64, event: Value) -> What {
    What::Event { reader, task: "t".to_owned(), id, event }
}

fn opened(reader: u64, after: Option<u64>) -> What {
    What::Opened { reader, task: Some("t".to_owned()), after }
}

fn ran(run: &str, node: &str) -> What {
    let [run, task, message, node] = [run, "t", "m", node].map(str::to_owned);
    What::Run { run, task, message, node, pid: 1, epoch: 1, began: 10, seen: 20 }
}

/// The same run by another node that took the task over.
fn ran_later(run: &str, node: &str) -> What {
    at_epoch(ran(run, node), 2, 30)
}

fn at_epoch(mut run: What, at: u64, from: u64) -> What {
    if let What::Run { epoch, began, seen, .. } = &mut run {
        (*epoch, *began, *seen) = (at, from, from + 10);
    }
    run
}

fn last(state: &str, text: &str) -> What {
    What::Final {
        task: "t".to_owned(),
        state: state.to_owned(),
        reason: String::new(),
        messages: vec!["m".to_owned()],
        hooks: vec!["h".to_owned()],
        artifacts: json!([{"artifactId": "a", "parts": [{"text": text}]}]),
    }
}

/// A correct run: one reader was interrupted, and another reader joined late.
fn right() -> Vec<What> {
    let log = log();
    let event = |at: usize| log[at].1.clone();
    let mut history = vec![
        What::Began { seed: 1, resumes: false, stable: true },
        opened(1, None),
        told(1, 1, event(0)),
        What::Accepted { task: "t".to_owned(), message: "m".to_owned() },
        What::Hooked { task: "t".to_owned(), hook: "h".to_owned(), whole: true },
        What::Saw { task: "t".to_owned(), state: WORKING.to_owned() },
        ran("r", "n.1"),
        told(1, 2, event(1)),
        What::Closed { reader: 1, how: "cut".to_owned() },
        opened(1, Some(2)),
        told(1, 2, snapshot(WORKING)),
        opened(2, None),
        told(2, 2, snapshot(WORKING)),
    ];
    for reader in [1, 2] {
        history.extend([told(reader, 4, event(2)), told(reader, 5, event(3))]);
    }
    for at in [0, 1, 1, 2, 1, 2, 3] {
        history.push(What::Delivered { hook: "h".to_owned(), event: event(at) });
    }
    history.push(What::Saw { task: "t".to_owned(), state: DONE.to_owned() });
    history.push(last(DONE, "r 1\nr 2\n"));
    history.extend(log.into_iter().map(|(id, event)| What::Logged { task: "t".to_owned(), id, event }));
    history
}

fn promises(history: Vec<What>) -> Vec<&'static str> {
    let entries: Vec<_> = history.into_iter().map(|what| Entry { at: 0, what }).collect();
    let mut promises: Vec<_> = check(&entries).into_iter().map(|violation| violation.promise).collect();
    promises.dedup();
    promises
}

/// The violations in the correct history after a change.
fn after(change: impl FnOnce(&mut Vec<What>)) -> Vec<&'static str> {
    let mut history = right();
    change(&mut history);
    promises(history)
}

fn without(is: impl Fn(&What) -> bool) -> Vec<&'static str> {
    after(|history| {
        let at = history.iter().position(is).unwrap();
        history.remove(at);
    })
}

fn replaced(is: impl Fn(&What) -> bool, by: What) -> Vec<&'static str> {
    after(|history| *history.iter_mut().find(|what| is(what)).unwrap() = by)
}

fn is_told(what: &What, to: u64, of: u64) -> bool {
    matches!(what, What::Event { reader, id, .. } if (*reader, *id) == (to, of))
}

#[test]
fn a_correct_history_has_no_violations() {
    assert_eq!(promises(right()), [""; 0]);
}

#[test]
fn a_gap_a_duplicate_and_a_wrong_order_are_found() {
    const EACH: &str = "every event, once, in order";
    assert_eq!(without(|what| is_told(what, 2, 4)), [EACH]);
    assert_eq!(without(|what| is_told(what, 1, 2)), [EACH]);
    let again = after(|history| {
        let at = history.iter().position(|what| is_told(what, 2, 4)).unwrap();
        history.insert(at, history[at].clone());
    });
    assert_eq!(again, [EACH]);
    let back = after(|history| {
        let at = history.iter().position(|what| is_told(what, 2, 4)).unwrap();
        history.insert(at + 1, told(2, 2, snapshot(WORKING)));
    });
    assert_eq!(back, [EACH]);
}

#[test]
fn a_snapshot_that_skips_required_events_is_found() {
    let skipped = after(|history| {
        history.retain(|what| !is_told(what, 1, 4));
        let at = history.iter().position(|what| is_told(what, 1, 5)).unwrap();
        history.insert(at, told(1, 4, snapshot(WORKING)));
    });
    assert_eq!(skipped, ["every event, once, in order"]);
}

#[test]
fn an_end_without_the_events_before_it_is_found() {
    let short = after(|history| {
        history.retain(|what| !is_told(what, 2, 4) && !is_told(what, 2, 5));
        history.push(told(2, 5, snapshot(DONE)));
    });
    assert_eq!(short, ["every event, once, in order"]);
}

#[test]
fn two_events_with_one_id_and_an_event_outside_of_the_log_are_found() {
    const SAME: &str = "one id, one event";
    assert_eq!(replaced(|what| is_told(what, 2, 4), told(2, 4, chunk("r 3\n", true))), [SAME]);
    assert_eq!(after(|history| history.extend([opened(3, None), told(3, 3, chunk("x", true))])), [SAME]);
    let without_a_log = after(|history| {
        history.retain(|what| !matches!(what, What::Logged { .. }));
        history.extend([opened(3, None), told(3, 4, chunk("other", true))]);
    });
    assert_eq!(without_a_log, [SAME]);
}

#[test]
fn a_second_end_and_events_after_the_end_are_found() {
    let twice = |history: &mut Vec<What>| {
        history.push(What::Logged { task: "t".to_owned(), id: 6, event: status("TASK_STATE_CANCELED") });
    };
    // Readers that received the end then did not receive everything.
    assert_eq!(after(twice), ["one terminal event, at the end", "webhooks are called", "every event, once, in order"]);
    let on = after(|history| history.push(told(2, 6, chunk("x", true))));
    assert_eq!(on, ["one terminal event, at the end", "one id, one event"]);
    let open = without(|what| matches!(what, What::Logged { id: 5, .. }));
    assert_eq!(open, ["one terminal event, at the end", "one id, one event"]);
}

#[test]
fn acknowledged_data_that_is_not_stored_is_found() {
    const STORED: &str = "acknowledged data is stored";
    let another = |history: &mut Vec<What>| {
        history.push(What::Accepted { task: "t".to_owned(), message: "m2".to_owned() });
    };
    assert_eq!(after(another), [STORED]);
    let hook = |history: &mut Vec<What>| {
        history.push(What::Hooked { task: "t".to_owned(), hook: "h2".to_owned(), whole: false });
    };
    assert_eq!(after(hook), [STORED]);
    assert_eq!(without(|what| matches!(what, What::Final { .. })), ["no data is lost"]);
    let changed =
        after(|history| history.push(What::Saw { task: "t".to_owned(), state: "TASK_STATE_FAILED".to_owned() }));
    assert_eq!(changed, ["terminal is terminal"]);
}

#[test]
fn a_zombie_task_is_found() {
    let mut history = right();
    history.push(What::Zombie { node: "0".to_owned(), line: "found a zombie task".to_owned() });
    assert_eq!(promises(history), ["every running task has a runner"]);
}

#[test]
fn a_task_without_an_end_and_a_task_that_differs_from_its_log_are_found() {
    let is_last = |what: &What| matches!(what, What::Final { .. });
    assert!(replaced(is_last, last(WORKING, "r 1\nr 2\n")).contains(&"every task ends"));
    assert_eq!(replaced(is_last, last(DONE, "r 1\n")), ["a task equals the sum of its log"]);
    assert!(replaced(is_last, last("TASK_STATE_FAILED", "r 1\nr 2\n")).contains(&"a failure has a reason"));
}

#[test]
fn a_turn_that_runs_twice_is_found() {
    const TWICE: &str = "no turn runs twice";
    let again = |resumes: bool, node: &str| {
        let run = ran_later("r2", node);
        after(|history| {
            history[0] = What::Began { seed: 1, resumes, stable: true };
            history.push(run);
        })
    };
    assert_eq!(again(false, "n.2"), [TWICE]);
    assert_eq!(again(true, "n.1"), [TWICE]);
    assert_eq!(again(true, "n.2"), [""; 0]);
}

#[test]
fn two_turns_in_one_epoch_are_found() {
    const EPOCH: &str = "no turn runs twice in one epoch";
    let beside = |what: What| {
        after(|history| {
            history[0] = What::Began { seed: 1, resumes: true, stable: false };
            history.push(what);
        })
    };
    // No violation: consecutive runs on the same server, or overlapping runs after a takeover by another server.
    assert_eq!(beside(at_epoch(ran("r2", "n.1"), 1, 20)), [""; 0]);
    assert_eq!(beside(at_epoch(ran("r2", "n.2"), 2, 15)), [""; 0]);
    assert_eq!(beside(at_epoch(ran("r2", "n.1"), 1, 19)), [EPOCH]);
    assert_eq!(beside(at_epoch(ran("r2", "n.2"), 1, 30)), [EPOCH]);
}

#[test]
fn a_refusal_without_a_retry_time_is_found() {
    let refused = |again| {
        let [by, refusal] = ["client 1", "503"].map(str::to_owned);
        after(|history| history.push(What::Refused { by, again, refusal }))
    };
    assert_eq!(refused(true), [""; 0]);
    assert_eq!(refused(false), ["failed calls can be retried"]);
}

#[test]
fn a_run_that_writes_after_a_takeover_is_found() {
    let written = |texts: [&str; 3]| {
        let mut history = vec![What::Began { seed: 1, resumes: true, stable: false }];
        let mut events = vec![snapshot("TASK_STATE_SUBMITTED")];
        events.extend(texts.iter().enumerate().map(|(at, text)| chunk(text, at > 0)));
        events.push(status(DONE));
        let events = events.into_iter().zip(1..);
        history.extend(events.map(|(event, id)| What::Logged { task: "t".to_owned(), id, event }));
        history.push(last(DONE, &texts.concat()));
        promises(history)
    };
    assert_eq!(written(["r 1\nr 2\n", "s 1\n", "s 2\n"]), [""; 0]);
    assert_eq!(written(["r 1\n", "s 1\n", "r 2\n"]), ["no writes after a takeover"]);
    assert_eq!(written(["r 1\n", "r 3\n", "r 4\n"]), ["all chunks of a run, in order"]);
}

#[test]
fn missing_webhook_deliveries_are_found() {
    let is_call = |of: Value| move |what: &What| matches!(what, What::Delivered { event, .. } if *event == of);
    assert_eq!(without(is_call(status(DONE))), ["webhooks are called"]);
    let gap = after(|history| history.retain(|what| !is_call(chunk("r 2\n", true))(what)));
    assert_eq!(gap, ["webhooks are called"]);
}

#[test]
fn endless_waits_and_surviving_programs_are_found() {
    let found = after(|history| {
        history.push(What::Hung { who: "reader 2".to_owned() });
        history.push(What::Orphan { pid: 7, node: "n.1".to_owned() });
        let [task, denied, by] = ["t", "the task", "client 1"].map(str::to_owned);
        history.push(What::Denied { task, denied, by });
        history.push(What::Died { node: 0 });
    });
    assert_eq!(
        found,
        ["every call and reader ends", "no program survives its server", "no data is lost", "nodes keep running"]
    );
}
