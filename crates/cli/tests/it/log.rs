//! The log of a server: a line for each call and for each task that ends, without content.

use std::io::{BufRead as _, BufReader};

use serde_json::Value;

use crate::agent::{Agent, Home};

/// The stderr of the server up to its end.
fn ended(mut agent: Agent) -> Vec<String> {
    agent.signal("TERM");
    agent.wait();
    let stderr = agent.child.stderr.take().unwrap();
    BufReader::new(stderr).lines().map(Result::unwrap).collect()
}

#[test]
fn calls_and_ends_of_tasks_have_lines() {
    let home = Home::new();
    let agent = home.serve(&["--token", "alice=made-up-secret-of-24-bytes", "--log-format", "json"]);
    let send = |more: &[&str]| {
        let run = home.run_with(
            &[&["send", "-a", &agent.address, "-o", "json", "--history", "0"], more].concat(),
            &[("A2ACLI_BEARER", "made-up-secret-of-24-bytes")],
            "",
        );
        run.json()["task"]["id"].as_str().unwrap().to_owned()
    };
    let done = send(&["echo the-content-of-a-message", "--transport", "jsonrpc"]);
    let failed = send(&["fail", "--transport", "rest", "--a2a-version", "1.0"]);
    let run = home.run_with(
        &["task", "get", "nope", "-a", &agent.address, "--transport", "rest"],
        &[("A2ACLI_BEARER", "made-up-secret-of-24-bytes")],
        "",
    );
    assert_eq!(run.code, 1);
    let lines = ended(agent);
    assert!(!lines.iter().any(|line| line.contains("the-content-of") || line.contains("made-up-secret")), "{lines:?}");
    let lines: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let find = |message: &str, is: &dyn Fn(&Value) -> bool| {
        let mut found = lines.iter().filter(|line| line["message"] == message && is(line));
        found.next().cloned().unwrap_or_else(|| panic!("{message} in {lines:?}"))
    };
    let call = find("call", &|line| line["method"] == "SendStreamingMessage" && line["binding"] == "JSONRPC");
    assert_eq!(
        (&call["version"], &call["caller"], &call["outcome"]),
        (&"1.0".into(), &"alice".into(), &"stream".into())
    );
    assert!(call["duration"].is_string() && call["level"] == "info" && call["time"].is_string(), "{call}");
    find("call", &|line| line["method"] == "SendStreamingMessage" && line["binding"] == "HTTP+JSON");
    let refused = find("call", &|line| line["task"] == "nope");
    assert_eq!((&refused["method"], &refused["outcome"]), (&"GetTask".into(), &"TaskNotFound".into()));
    assert!(refused["reason"].is_string(), "{refused}");
    let end = find("task ended", &|line| line["task"] == *done);
    assert_eq!((&end["state"], &end["caller"]), (&"completed".into(), &"alice".into()));
    let end = find("task ended", &|line| line["task"] == *failed);
    assert!(end["state"] == "failed" && end["reason"].is_string(), "{end}");
}

#[test]
fn a_quiet_server_writes_no_lines_and_an_unread_log_stops_no_server() {
    let home = Home::new();
    let quiet = home.serve(&["--quiet"]);
    home.run(&["send", "echo x", "-a", &quiet.address]).ok();
    let lines = ended(quiet);
    assert!(lines.iter().all(|line| !line.contains(" call ") && !line.contains("task ended")), "{lines:?}");
    let text = home.serve(&[]);
    home.run(&["send", "echo x", "-a", &text.address]).ok();
    let lines = ended(text);
    assert!(lines.iter().any(|line| line.contains("INFO") && line.contains("task ended")), "{lines:?}");
    assert_eq!(home.run(&["serve", "--log-format", "xml"]).code, 2);
}
