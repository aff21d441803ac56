//! Agents that are not ours and do not do as the specification says.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    agent::{Home, Run},
    site::Site,
};

/// A card with one interface: HTTP+JSON at this site.
fn card(changes: &Value) -> String {
    let mut card = json!({
        "name": "a", "description": "b", "version": "1", "capabilities": {"streaming": true}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": "/", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}],
    });
    card.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    card.to_string()
}

fn events(events: &[Value]) -> String {
    let events: Vec<_> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    events.concat()
}

fn task(state: &str) -> Value {
    json!({"id": "t1", "contextId": "c1", "status": {"state": format!("TASK_STATE_{state}")}})
}

fn status(task: &str, state: &str) -> Value {
    json!({"statusUpdate": {"taskId": task, "contextId": "c1", "status": {"state": format!("TASK_STATE_{state}")}}})
}

fn artifact(text: &str) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact}})
}

/// An agent that streams the events and stores the task.
fn agent(changes: &Value, stream: &[Value], kept: Option<Value>) -> Site {
    let (card, stream) = (card(changes), events(stream));
    Site::start(move |request| match request.split(' ').nth(1).unwrap_or_default() {
        "/.well-known/agent-card.json" => (200, card.clone()),
        "/message:stream" => (200, stream.clone()),
        "/tasks/t1" => match &kept {
            Some(task) => (200, task.to_string()),
            None => (404, String::new()),
        },
        "/tasks/t1:subscribe" => (
            404,
            json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no task t1",
            "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org"}]}})
            .to_string(),
        ),
        _ => (404, String::new()),
    })
}

fn send(site: &Site, more: &[&str]) -> Run {
    Home::new().run(&[&["send", "hello", "-a", &site.url, "--timeout", "60s"], more].concat())
}

#[test]
fn what_the_stream_told_is_printed_though_the_agent_keeps_less() {
    let stream = [json!({"task": task("WORKING")}), artifact("ANSWER"), status("t1", "COMPLETED")];
    let site = agent(&json!({}), &stream, Some(task("COMPLETED")));
    let run = send(&site, &[]).ok();
    assert!(run.out.contains("State: completed\nArtifact: a\nText:\nANSWER\n"), "{}", run.out);
    assert_eq!(send(&site, &["-o", "json"]).ok().json()["task"]["artifacts"][0]["parts"][0]["text"], "ANSWER");
}

#[test]
fn all_messages_of_a_stream_are_printed() {
    let message = |parts: Value| json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": parts}});
    let stream = [message(json!([])), message(json!([{"text": "AN"}])), message(json!([{"text": "SWER"}]))];
    let site = agent(&json!({}), &stream, None);
    let run = send(&site, &[]).ok();
    assert!(run.out.contains("AN\n") && run.out.contains("SWER\n"), "{}", run.out);
    let parts = send(&site, &["-o", "json"]).ok().json()["message"]["parts"].clone();
    assert_eq!(parts, json!([{"text": "AN"}, {"text": "SWER"}]));
    assert_eq!(send(&site, &["-o", "json", "--stream"]).ok().lines().len(), 3);
}

#[test]
fn an_event_of_another_task_does_not_end_the_command() {
    let stream =
        [json!({"task": task("WORKING")}), status("OTHER", "COMPLETED"), artifact("x"), status("t1", "COMPLETED")];
    let site = agent(&json!({}), &stream, None);
    let lines = send(&site, &["-o", "json", "--stream"]).ok().lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[2]["statusUpdate"]["taskId"], "t1");
}

#[test]
fn a_task_that_the_agent_has_given_up_ends_the_command() {
    let site = agent(&json!({}), &[json!({"task": task("SUBMITTED")})], Some(task("SUBMITTED")));
    for more in [&["-o", "json"][..], &["-o", "json", "--stream"]] {
        let begun = Instant::now();
        let error = send(&site, more).error("InvalidAgentResponseError", 1);
        assert!(error["message"].as_str().unwrap().contains("given up task t1: it is submitted"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("nuncio task get t1"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
    // A task that has ended in spite of the error is the result.
    let site = agent(&json!({}), &[json!({"task": task("SUBMITTED")})], Some(task("FAILED")));
    assert_eq!(send(&site, &["-o", "json"]).ok().json()["task"]["status"]["state"], "TASK_STATE_FAILED");
}

#[test]
fn an_empty_stream_says_what_to_do() {
    let site = agent(&json!({}), &[], None);
    let error = send(&site, &["-o", "json"]).error("InvalidAgentResponseError", 1);
    assert!(error["hint"].as_str().unwrap().contains("--async"), "{error}");
}

#[test]
fn the_status_of_http_decides_the_exit_code_in_json_rpc() {
    let home = Home::new();
    for (status, code, exit) in [(401, -32000, 4), (403, -32003, 4), (429, -32000, 3), (503, -32000, 3)] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "says the agent"}}).to_string();
        let site = Site::start(move |_| (status, body.clone()));
        let run = home.run(&["send", "x", "-e", &site.url, "--transport", "jsonrpc", "-o", "json"]);
        let rest = home.run(&["send", "x", "-e", &site.url, "--transport", "rest", "-o", "json"]);
        assert_eq!((run.code, rest.code), (exit, exit), "{status}: {run:?} {rest:?}");
        assert!(run.json()["error"]["message"].as_str().unwrap().contains("says the agent"), "{run:?}");
    }
}

#[test]
fn a_card_behind_credentials_exits_with_4() {
    let site = Site::start(|_| (401, String::new()));
    let home = Home::new();
    home.run(&["card", "get", &site.url, "-o", "json"]).error("A2ACLI_ERR_CREDENTIALS_MISSING", 4);
    home.run(&["send", "x", "-a", &site.url, "--bearer", "s", "-o", "json"]).error("A2ACLI_ERR_AUTH_FAILED", 4);
}

#[test]
fn a_bearer_token_is_sent_to_schemes_that_are_not_spelled_right() {
    for scheme in [json!({"type": "httpAuth", "scheme": "Bearer"}), json!({"type": "http"}), json!({"type": "bearer"})]
    {
        let changes = json!({"securitySchemes": {"x": scheme}, "security": [{"x": []}]});
        let site = agent(&changes, &[json!({"task": task("COMPLETED")})], None);
        send(&site, &["--bearer", "s3cret-s3cret-s3cret"]).ok();
        let call = site.requests().into_iter().find(|it| it.starts_with("POST /message:stream")).unwrap();
        assert!(call.to_ascii_lowercase().contains("authorization: bearer s3cret-s3cret-s3cret\r\n"), "{call}");
    }
}

#[test]
fn verbose_warns_of_each_mistake_that_is_read() {
    let mut task = task("COMPLETED");
    task["status"]["timestamp"] = "2025-08-15T10:11:12.345678".into();
    let changes = json!({"capabilities": ["streaming"], "skills": ["a"]});
    let site = agent(&changes, &[json!({ "task": task })], Some(task.clone()));
    let run = send(&site, &["-v"]).ok();
    let warnings: Vec<_> = run.err.lines().filter(|line| line.starts_with("warning: the agent sends")).collect();
    assert_eq!(warnings.len(), 3, "{}", run.err);
    for part in ["`capabilities` as a list", "a skill as a text", "a time without a zone"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    assert!(run.out.contains("Updated: 2025-08-15T10:11:12.345678Z"), "{}", run.out);
    assert_eq!(send(&site, &[]).ok().err, "");
}

#[cfg(feature = "v0-3")]
#[test]
fn an_older_version_is_told_unless_it_was_asked_for() {
    let home = Home::new();
    let card = card(&json!({"url": "/", "protocolVersion": "0.3.0", "supportedInterfaces": null}));
    let reply = json!({"jsonrpc": "2.0", "id": 1, "result":
        {"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": "completed"}}});
    let site = Site::start(move |request| {
        (200, if request.contains(".well-known") { card.clone() } else { reply.to_string() })
    });
    let run = home.run(&["task", "get", "t1", "-a", &site.url]).ok();
    assert_eq!(run.err, "the agent speaks version 0.3 of the protocol, which is used\n");
    let run = home.run(&["task", "get", "t1", "-a", &site.url, "--a2a-version", "0.3"]).ok();
    assert_eq!(run.err, "");
}

#[test]
fn a_wait_for_a_task_that_does_not_change_is_warned_of() {
    let site = agent(&json!({"capabilities": {"streaming": false}}), &[], Some(task("WORKING")));
    let wait = ["task", "get", "t1", "--wait", "--poll-interval", "50ms", "--idle-timeout", "1s", "--timeout", "2s"];
    let run = Home::new().run(&[&wait[..], &["-a", &site.url]].concat());
    assert_eq!((run.code, run.err.matches("the agent may have given it up").count()), (5, 1), "{run:?}");
}

#[test]
fn a_lost_connection_is_told_once() {
    let home = Home::new();
    let mut agent = home.serve(&[]);
    let mut send = home.command(&["send", "slow 60", "--stream", "-a", &agent.address, "--poll-interval", "100ms"]);
    send.args(["--idle-timeout", "3s"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut send = send.spawn().unwrap();
    // The task is at work.
    let mut first = String::new();
    BufReader::new(send.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    let output = send.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let lines = said.matches("warning: the connection to the agent is lost; trying again for up to 3 s").count();
    assert!(output.status.code() == Some(3) && lines == 1, "{:?} {said}", output.status);
}
