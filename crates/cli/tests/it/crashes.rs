//! Programs whose server is killed during a turn.

use std::io::Read as _;

use serde_json::Value;

use crate::agent::{Agent, Home, eventually};

/// Writes the first piece and waits forever; at a higher epoch the program writes the second piece.
const PROGRAM: &str = r#"
read -r line
case "$line" in
*'"resumed":true'*) [ "$NUNCIO_EPOCH" -gt "$(cat epoch)" ] && printf '%s\n' '{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"two"}]},"append":true}}' ;;
*'"text":"second"'*) printf '%s\n' '{"artifactUpdate":{"artifact":{"artifactId":"b","parts":[{"text":"of the second"}]}}}' ;;
*)
    echo "$NUNCIO_EPOCH" >epoch
    printf '%s\n' '{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"one,"}]}}}'
    cat >/dev/null
    ;;
esac
"#;

fn read(home: &Home, agent: &Agent, id: &str) -> Value {
    home.run(&["task", "get", "-a", &agent.address, "-o", "json", id]).ok().json()
}

fn begin(home: &Home, agent: &Agent, more: &[&str]) -> String {
    let mut arguments = vec!["send", "-a", &agent.address, "-o", "json", "--async"];
    arguments.extend(more);
    home.run(&arguments).ok().json()["task"]["id"].as_str().unwrap().to_owned()
}

fn texts(task: &Value) -> Vec<String> {
    let artifacts = task["artifacts"].as_array().cloned().unwrap_or_default();
    let parts = artifacts.iter().flat_map(|artifact| artifact["parts"].as_array().unwrap());
    parts.map(|part| part["text"].as_str().unwrap().to_owned()).collect()
}

fn is_over(task: &Value) -> bool {
    ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"].contains(&task["status"]["state"].as_str().unwrap())
}

fn after_the_crash(home: &Home, arguments: &[&str], first: &[&str]) -> (Value, String) {
    let mut agent = home.serve(arguments);
    let id = begin(home, &agent, &["first"]);
    eventually("the program has written", || (texts(&read(home, &agent, &id)) == first).then_some(()));
    begin(home, &agent, &["--task-id", &id, "second"]);
    agent.child.kill().unwrap();
    agent.wait();
    let mut agent = home.serve(arguments);
    let task = eventually("the task is over", || Some(read(home, &agent, &id)).filter(is_over));
    agent.child.kill().unwrap();
    let mut log = String::new();
    agent.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    (task, log)
}

#[test]
fn one_that_may_be_run_again_goes_on_where_it_stopped_and_then_has_the_next_message() {
    let home = Home::new();
    home.write("program.sh", PROGRAM);
    let arguments = ["--store", "sqlite:./tasks.db", "--resume", "--jsonl", "--", "sh", "program.sh"];
    let (task, log) = after_the_crash(&home, &arguments, &["one,"]);
    assert!(log.contains("their turns run again"), "{log}");
    assert_eq!(texts(&task), ["one,", "two", "of the second"]);
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
}

#[test]
fn one_that_may_not_fails_its_task_with_the_reason() {
    let home = Home::new();
    home.write("program.sh", PROGRAM);
    let arguments = ["--store", "sqlite:./tasks.db", "--jsonl", "--", "sh", "program.sh"];
    let (task, log) = after_the_crash(&home, &arguments, &["one,"]);
    assert!(log.contains("aborted turns failed") && !log.contains("run again"), "{log}");
    assert_eq!((&task["status"]["state"], texts(&task)), (&"TASK_STATE_FAILED".into(), vec!["one,".to_owned()]));
    assert!(task["status"]["message"]["parts"][0]["text"].as_str().unwrap().contains("the server stopped"));
}

#[test]
fn what_a_filter_had_written_is_written_anew() {
    let home = Home::new();
    // Two lines, of which the second comes with the second run.
    home.write("filter.sh", "cat >/dev/null; echo one; [ -e ran ] && echo two && exit 0; touch ran; exec sleep 20");
    let arguments = ["--store", "sqlite:./tasks.db", "--resume", "--exec", "--", "sh", "filter.sh"];
    let mut agent = home.serve(&arguments);
    let id = begin(&home, &agent, &["first"]);
    eventually("the filter has written", || (texts(&read(&home, &agent, &id)).concat() == "one\n").then_some(()));
    agent.child.kill().unwrap();
    agent.wait();
    let agent = home.serve(&arguments);
    let task = eventually("the task is over", || Some(read(&home, &agent, &id)).filter(is_over));
    assert_eq!((task["artifacts"].as_array().unwrap().len(), texts(&task).concat()), (1, "one\ntwo\n".to_owned()));
}
