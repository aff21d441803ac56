//! `--stream`: an object per line for each event, the end last.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    agent::{Home, eventually},
    site::Site,
};

/// The text of all chunks of an artifact.
fn text(lines: &[Value]) -> String {
    lines.iter().filter_map(|line| line["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str()).collect()
}

#[test]
fn each_event_is_a_line_and_the_end_comes_last() {
    let home = Home::new();
    let agent = home.serve(&[]);
    for transport in ["jsonrpc", "rest", "grpc"] {
        let arguments = ["send", "stream 50", "--stream", "-o", "json", "-a", &agent.address, "--transport", transport];
        let lines = home.run(&arguments).ok().lines();
        assert!(lines.iter().all(|line| line.as_object().unwrap().len() == 1));
        assert!(lines[0]["task"].is_object());
        assert_eq!(text(&lines), chunks(50));
        assert_eq!(lines.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED", "{transport}");
    }
}

#[test]
fn an_agent_without_streaming_is_asked_again_and_again() {
    let home = Home::new();
    let agent = home.serve(&["--without", "streaming"]);
    let arguments = ["send", "slow 0.4", "--stream", "-o", "json", "--poll-interval", "50ms", "-a", &agent.address];
    let lines = home.run(&arguments).ok().lines();
    assert!(lines[0]["task"].is_object());
    assert_eq!(lines.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let direct = home.run(&["send", "message hi", "-o", "json", "-a", &agent.address]).ok().json();
    assert!(direct["message"].is_object());
    let asked = home.run(&["send", "input", "-o", "json", "-a", &agent.address]).ok().json();
    let id = asked["task"]["id"].as_str().unwrap();
    let lines =
        home.run(&["send", "more", "--task-id", id, "--stream", "-o", "json", "-a", &agent.address]).ok().lines();
    assert!(lines.last().unwrap().to_string().contains("TASK_STATE_COMPLETED"), "{lines:?}");
}

#[test]
fn a_bare_message_is_a_single_line_and_jsonl_needs_no_stream() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let streamed = home.run(&["send", "message hi", "--stream", "-o", "json", "-a", &agent.address]).ok().lines();
    assert_eq!(streamed.len(), 1);
    assert_eq!(streamed[0]["message"]["parts"][0]["text"], "message: hi");
    home.run(&["send", "echo one", "-a", &agent.address]).ok();
    home.run(&["send", "echo two", "-a", &agent.address]).ok();
    let tasks = home.run(&["task", "list", "-o", "jsonl", "-a", &agent.address]).ok().lines();
    assert!(tasks.len() == 2 && tasks[0]["id"].is_string());
}

#[test]
fn what_the_network_cuts_is_printed_whole_and_once() {
    let home = Home::new();
    let agent = home.serve(&["--store", "sqlite:./tasks.db"]);
    std::thread::scope(|scope| {
        for transport in ["jsonrpc", "rest", "grpc"] {
            for is_sent in [true, false] {
                let (home, address) = (&home, &agent.address);
                scope.spawn(move || follow_through_cuts(home, address, transport, is_sent));
            }
        }
    });
}

fn follow_through_cuts(home: &Home, agent: &str, transport: &str, is_sent: bool) {
    let name = format!("{transport}, sent: {is_sent}");
    let proxy = nuncio_testbed::Proxy::start(agent).unwrap();
    let address = proxy.address().to_string();
    let more = ["--stream", "-o", "json", "-a", &address, "--transport", transport];
    let words = "stream 300 every=5 after=1500";
    let mut command = if is_sent {
        home.command(&[&["send", words], &more[..]].concat())
    } else {
        let begun = home.run(&["send", words, "--async", "-o", "json", "-a", agent]).ok().json();
        home.command(&[&["task", "watch", begun["task"]["id"].as_str().unwrap()], &more[..]].concat())
    };
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut seen = Vec::new();
    for (count, line) in BufReader::new(child.stdout.take().unwrap()).lines().enumerate() {
        seen.push(serde_json::from_str(&line.unwrap()).unwrap());
        // The id of the task is known from here on.
        if count % 50 == 1 {
            proxy.cut();
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
    assert_eq!(text(&seen), chunks(300), "{name}");
    assert_eq!(seen.iter().filter(|line| line.get("task").is_some()).count(), 1, "{name}");
}

#[test]
fn an_error_of_a_stream_is_its_last_line() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["task", "subscribe", "nope", "--stream", "-o", "json", "-a", &agent.address]);
    run.error("TaskNotFoundError", 1);
}

#[test]
fn a_line_is_there_when_its_event_is() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let mut command = home.command(&["send", "slow 30", "--stream", "-o", "json", "-a", &agent.address]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let task = first["task"]["id"].as_str().unwrap().to_owned();
    // SIGINT ends the command, not the task.
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains(&task));
    let state = || {
        let got = home.run(&["task", "get", &task, "-o", "json", "-a", &agent.address]).ok().json();
        (got["status"]["state"] == "TASK_STATE_WORKING").then_some(())
    };
    eventually("the task goes on", state);
}

#[test]
fn a_signal_names_the_task_once_and_ends_stdout_with_an_error() {
    let home = Home::new();
    let agent = home.serve(&[]);
    for (signal, exit) in [("INT", 130), ("TERM", 143)] {
        for stream in [&[][..], &["--stream"]] {
            let send = [&["send", "slow 30", "-o", "json", "-a", &agent.address], stream].concat();
            let mut child = home.command(&send).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            let mut err = BufReader::new(child.stderr.take().unwrap());
            let mut first = String::new();
            // The task is known by its id or its first event.
            if stream.is_empty() {
                err.read_line(&mut first).unwrap()
            } else {
                out.read_line(&mut first).unwrap()
            };
            let pid = child.id().to_string();
            assert!(std::process::Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
            let told: Vec<_> = err.lines().map(Result::unwrap).collect();
            let printed: Vec<_> = out.lines().map(Result::unwrap).collect();
            assert_eq!(child.wait().unwrap().code(), Some(exit));
            let named = if stream.is_empty() { &first } else { &told[0] };
            assert!(named.starts_with("task ") && named.contains(" in context "), "{named}");
            let hint = told.last().unwrap().strip_prefix("hint: ").unwrap();
            assert!(hint.starts_with("the task goes on; nuncio task get --wait"), "{told:?}");
            assert_eq!(told.len(), 1 + stream.len());
            assert!(stream.len() == 1 || printed.len() == 1, "one document: {printed:?}");
            let last: Value = serde_json::from_str(printed.last().unwrap()).unwrap();
            let message = format!("interrupted by SIG{signal}");
            let error = json!({"code": "A2ACLI_ERR_INTERNAL", "message": message, "hint": hint, "a2aCode": null});
            assert_eq!(last, json!({"error": error}));
        }
    }
}

#[test]
fn a_signal_is_told_to_people_before_the_hint() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let mut command = home.command(&["send", "slow 30", "-o", "text", "-a", &agent.address]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The head names the task.
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let error = told.find("Error: interrupted by SIGINT\n");
    assert!(error.is_some() && error < told.find("hint: the task goes on"), "{told}");
    assert_eq!(output.status.code(), Some(130));
}

#[test]
fn an_error_that_the_agent_tells_ends_its_stream_at_once() {
    let home = Home::new();
    let result = json!({"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}});
    let told = json!({"error": {"code": 500, "status": "INTERNAL", "message": "boom"}});
    let site = Site::start(move |_| (200, format!("data: {result}\n\ndata: {told}\n\n")));
    for stream in [&["--stream"][..], &[]] {
        let send = ["send", "x", "-e", &site.url, "--transport", "rest", "-o", "json"];
        let before = site.requests().len();
        let error = home.run(&[&send[..], stream].concat()).error("InternalError", 1);
        assert_eq!((&error["message"], &error["a2aCode"]), (&json!("boom"), &json!(500)));
        assert_eq!(site.requests().len() - before, 1, "nothing is asked again");
    }
}

#[test]
fn the_answer_to_a_question_is_streamed_to_its_end() {
    let home = Home::new();
    let agent = home.serve(&[]);
    for transport in ["jsonrpc", "rest", "grpc"] {
        let send = |arguments: &[&str]| {
            let more = ["--stream", "-o", "json", "-a", &agent.address, "--transport", transport];
            home.run(&[&["send"], arguments, &more].concat()).ok().lines()
        };
        let asked = send(&["input"]);
        assert_eq!(asked.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let answered = send(&["more", "--task-id", asked[0]["task"]["id"].as_str().unwrap()]);
        assert_eq!(answered.last().unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED", "{answered:?}");
    }
}

#[test]
fn a_parked_task_is_followed_through_its_next_turn() {
    for more in [&[][..], &["--without", "streaming"]] {
        follow_parked(more);
    }
}

fn follow_parked(more: &[&str]) {
    let home = Home::new();
    let agent = home.serve(more);
    let asked = home.run(&["send", "input", "-o", "json", "-a", &agent.address]).ok().json();
    let id = asked["task"]["id"].as_str().unwrap();
    let subscribe =
        ["task", "subscribe", id, "--stream", "-o", "json", "--poll-interval", "50ms", "-a", &agent.address];
    let mut command = home.command(&subscribe);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("INPUT_REQUIRED"));
    home.run(&["send", "more", "--task-id", id, "-a", &agent.address]).ok();
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert!(rest.last().unwrap().contains("TASK_STATE_COMPLETED"), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// What `stream N` writes.
fn chunks(count: u32) -> String {
    (1..=count).fold(String::new(), |text, number| text + &format!("chunk {number}\n"))
}

/// A stub agent: a stream with a task and no further event, subscriptions without an answer, and `GetTask` with a
/// completed task.
fn hole() -> String {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let task =
                |state: &str| format!(r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}}}}"#);
            let (media_type, body) = match request.split(' ').nth(1).unwrap() {
                "/message:stream" => ("text/event-stream", format!("data: {{\"task\":{}}}\n\n", task("WORKING"))),
                path if path.ends_with("/tasks/t1:subscribe") => {
                    kept.push(stream);
                    continue;
                }
                _ => ("application/json", task("COMPLETED")),
            };
            let length = if media_type == "application/json" { body.len() } else { 100_000 };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n");
            stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).unwrap();
            if length > body.len() {
                kept.push(stream);
            }
        }
    });
    url
}

#[test]
fn a_stream_that_falls_silent_is_no_reason_to_hang() {
    let home = Home::new();
    let url = hole();
    let arguments = ["send", "x", "-e", &url, "--transport", "rest", "-o", "json", "--timeout", "30s"];
    for (more, setting) in [(&["--idle-timeout", "200ms"][..], "0"), (&[], "200ms")] {
        let run = home.run_with(&[&arguments, more].concat(), &[("A2ACLI_IDLE_TIMEOUT", setting)], "").ok();
        assert_eq!(run.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{run:?}");
    }
}

/// Before 1.0 an agent need not begin its stream before something happens.
#[test]
fn an_older_agent_that_says_nothing_when_it_is_subscribed_to_is_asked_instead() {
    let home = Home::new();
    let url = hole();
    let arguments =
        ["task", "subscribe", "t1", "-e", &url, "--transport", "rest", "--a2a-version", "0.3", "-o", "json"];
    let run = home.run(&[&arguments[..], &["--idle-timeout", "200ms", "--timeout", "30s"]].concat()).ok();
    assert_eq!(run.json()["status"]["state"], "TASK_STATE_COMPLETED", "{run:?}");
}

/// This state is neither an end nor an interruption.
#[test]
fn a_task_whose_state_is_not_known_is_asked_on_about() {
    let home = Home::new();
    let site = || {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        Site::start(move |line| {
            let task =
                |state: &str| format!(r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}}}}"#);
            match line.split(' ').nth(1).unwrap() {
                "/message:stream" => (501, String::new()),
                "/message:send" => (200, format!(r#"{{"task":{}}}"#, task("UNSPECIFIED"))),
                _ if asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 2 => (200, task("UNSPECIFIED")),
                _ => (200, task("COMPLETED")),
            }
        })
    };
    for arguments in [&["send", "x"][..], &["task", "get", "--wait", "t1"]] {
        let site = site();
        let more = ["-e", &site.url, "--transport", "rest", "--poll-interval", "20ms", "--timeout", "30s"];
        let run = home.run(&[arguments, &more].concat()).ok();
        assert!(run.out.contains("State: completed\n"), "{run:?}");
        let polls = site.requests().iter().filter(|request| request.starts_with("GET /tasks/t1")).count();
        assert_eq!(polls, 3, "{arguments:?}");
    }
    let once = site();
    let run = home.run(&["task", "get", "t1", "-e", &once.url, "--transport", "rest"]).ok();
    assert!(run.out.contains("State: unspecified\n"), "it is told as it came: {run:?}");
}
