//! Less to read and to type: lists of one line for each task, short ids, the answer alone.

use crate::agent::{Agent, Home};

/// Sends the text and returns the id of the task.
fn task(home: &Home, agent: &Agent, text: &str) -> String {
    let sent = home.run(&["send", text, "-a", &agent.address, "-o", "json"]).ok().json();
    sent["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_list_has_a_line_for_each_task() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let (first, second) = (task(&home, &agent, "echo one two"), task(&home, &agent, "input"));
    let list = home.run(&["task", "list", "-a", &agent.address]).ok().out;
    let lines: Vec<_> = list.lines().collect();
    let short = |id: &str| id[id.len() - 8..].to_owned();
    for (line, id, state, words) in
        [(lines[0], &second, "input-required", "input"), (lines[1], &first, "completed", "echo one two")]
    {
        let parts: Vec<_> = line.split_whitespace().collect();
        assert_eq!((parts[0], parts[1], parts[2]), ("Task:", &*short(id), state), "{list}");
        assert!(parts[3].ends_with('s') && line.ends_with(words), "{list}");
    }
    assert!(list.contains("\nShown: 2\nTotal: 2\n"), "{list}");
    let whole = home.run(&["task", "list", "-v", "-a", &agent.address]).ok().out;
    assert!(whole.contains(&format!("Task: {first}\n")), "{whole}");
}

#[test]
fn commands_take_a_short_id() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let (first, second) = (task(&home, &agent, "echo one"), task(&home, &agent, "input"));
    let short = &second[second.len() - 8..];
    let get = home.run(&["task", "get", short, "-a", &agent.address, "-o", "json"]).ok().json();
    assert_eq!(get["id"], *second);
    let sent = home.run(&["send", "blue", "--task-id", short, "-a", &agent.address, "-o", "json"]).ok().json();
    assert_eq!(
        (&sent["task"]["id"], &sent["task"]["status"]["state"]),
        (&second.clone().into(), &"TASK_STATE_COMPLETED".into())
    );
    // Both begin with the time.
    let both = &first[..4];
    let error = home.run(&["task", "cancel", both, "-a", &agent.address, "-o", "json"]).error("A2ACLI_ERR_USAGE", 2);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&first) && message.contains(&second), "{error}");
    home.run(&["task", "get", "abcdef", "-a", &agent.address, "-o", "json"]).error("TaskNotFoundError", 1);
}

#[test]
fn a_task_that_has_ended_is_printed_by_subscribe() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let id = task(&home, &agent, "echo one");
    let run = home.run(&["task", "subscribe", &id, "-a", &agent.address]).ok();
    assert!(run.out.contains("State: completed\n") && run.out.contains("Text:\none\n"), "{run:?}");
    let lines = home.run(&["task", "subscribe", &id, "--stream", "-o", "json", "-a", &agent.address]).ok().lines();
    assert_eq!((lines.len(), &lines[0]["task"]["id"]), (1, &id.into()));
}

#[test]
fn the_answer_is_all_that_is_printed() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let send = |text: &str| home.run(&["send", text, "--answer", "-a", &agent.address]).ok();
    assert_eq!(send("echo one\ntwo").out, "one\ntwo\n");
    assert_eq!(send("echo hint: \u{1b}[31m\u{202e}x").out, "hint: \\u{1b}[31m\\u{202e}x\n");
    let asked = send("input");
    assert!(asked.out.lines().count() == 1 && asked.err.contains("hint: nuncio send --task-id "), "{asked:?}");
    home.run(&["send", "x", "--answer", "-o", "json", "-a", &agent.address]).error("A2ACLI_ERR_USAGE", 2);
}

#[test]
fn a_request_names_media_types_a_schema_and_other_tasks() {
    let home = Home::new();
    let site = crate::site::Site::start(|_| {
        (200, r#"{"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "ok"}]}}"#.to_owned())
    });
    home.write("schema.json", r#"{"type": "object"}"#);
    let send = ["send", "x", "-e", &site.url, "--transport", "rest", "--async"];
    let more = ["--accept", "text/plain,text/html", "--schema", "schema.json", "--about", "t1", "--about", "t2"];
    home.run(&[&send[..], &more].concat()).ok();
    let requests = site.requests();
    let body = requests.last().unwrap().split("\r\n\r\n").nth(1).unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["configuration"]["acceptedOutputModes"], serde_json::json!(["text/plain", "text/html"]));
    assert_eq!(body["message"]["referenceTaskIds"], serde_json::json!(["t1", "t2"]));
    assert_eq!(body["message"]["parts"][0]["metadata"]["schema"], serde_json::json!({"type": "object"}));
    home.write("schema.json", "[1]");
    assert_eq!(home.run(&[&send[..], &["--schema", "schema.json"]].concat()).code, 2);
}

#[test]
fn files_are_saved_under_names_that_lead_nowhere_else() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let sent = home.run(&["send", "parts", "--save-fileparts", "out", "-o", "json", "-a", &agent.address]).ok();
    assert!(sent.err.contains("saved out/all.bin, application/octet-stream, 256 bytes\n"), "{sent:?}");
    let id = sent.json()["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read(home.path().join("out/all.bin")).unwrap(), (0..=255).collect::<Vec<u8>>());
    let run = home.run(&["task", "download", &id[id.len() - 8..], "out", "-a", &agent.address]).ok();
    assert_eq!(run.out, "Saved: out/all (1).bin, application/octet-stream, 256 bytes\n");
    let document = home.run(&["task", "download", &id, "more", "-a", &agent.address, "-o", "json"]).ok().json();
    assert_eq!(document["files"][0]["path"], "more/all.bin");
}

#[test]
fn colors_are_ours_and_only_where_they_are_wanted() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let send = |more: &[&str], set: &[(&str, &str)]| {
        home.run_with(&[&["send", "echo a\u{1b}[31mred", "-a", &agent.address], more].concat(), set, "").ok().out
    };
    for (more, set) in [(&[][..], &[][..]), (&["--color", "never"], &[]), (&[], &[("A2ACLI_COLOR", "never")])] {
        assert!(!send(more, set).contains('\u{1b}'));
    }
    let out = send(&["--color", "always"], &[]);
    assert!(out.contains("\u{1b}[1mState:\u{1b}[0m \u{1b}[32mcompleted\u{1b}[0m\n"), "{out:?}");
    assert!(out.contains(r"a\u{1b}[31mred"), "the agent has no colors: {out:?}");
    let failed = home.run(&["task", "get", "nope", "-a", &agent.address, "--color", "always"]);
    assert!(failed.err.starts_with("\u{1b}[31mError:\u{1b}[0m "), "{failed:?}");
    assert!(!send(&["--color", "always", "-o", "json"], &[]).contains('\u{1b}'));
}

#[test]
fn the_log_of_a_task_is_printed_with_times() {
    let home = Home::new();
    let agent = home.serve(&["--store", "sqlite:./tasks.db"]);
    let id = task(&home, &agent, "stream 3 every=1");
    let events =
        |more: &[&str]| home.run(&[&["task", "events", &id[id.len() - 8..], "-a", &agent.address], more].concat()).ok();
    let text = events(&[]).out;
    let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.iter().all(|words| words[0] == "Event:"), "{text}");
    let first = &lines[0];
    assert_eq!((first[1], first[3], first[4], first[5]), ("1", "task", "submitted", "stream"), "{text}");
    assert!(first[2].starts_with("20") && first[2].ends_with('Z'), "{text}");
    let last = lines.last().unwrap();
    assert_eq!((last[3], last[4]), ("status", "completed"), "{text}");
    assert!(lines.iter().any(|words| words[2..4] == ["-", "artifact"]), "{text}");
    let json = events(&["-o", "json"]).lines();
    assert_eq!(json.len(), lines.len(), "{text}");
    assert_eq!((&json[0]["sequence"], &json[0]["task"]["id"]), (&1.into(), &id.clone().into()));
    let numbers: Vec<_> = json.iter().map(|event| event["sequence"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, two| one < two), "{numbers:?}");
}

#[test]
fn the_log_of_a_task_that_waits_ends_at_its_question() {
    let home = Home::new();
    let agent = home.serve(&["--store", "sqlite:./tasks.db"]);
    let id = task(&home, &agent, "input");
    let events = |more: &[&str]| {
        let run = home.run(&[&["task", "events", &id, "-a", &agent.address, "-o", "json"], more].concat());
        let states = |run: &crate::agent::Run| -> Vec<String> {
            let state = |event: &serde_json::Value| Some(event["statusUpdate"]["status"]["state"].as_str()?.to_owned());
            run.lines().iter().filter_map(state).collect()
        };
        (run.code, states(&run))
    };
    let (code, once) = events(&[]);
    assert_eq!((code, once.last().map(String::as_str)), (0, Some("TASK_STATE_INPUT_REQUIRED")));
    let (code, followed) = events(&["--follow", "--timeout", "500ms"]);
    assert_eq!((code, &followed), (5, &once), "the task still waits");
    home.run(&["send", "blue", "--task-id", &id, "-a", &agent.address]).ok();
    let (code, whole) = events(&[]);
    assert_eq!((code, &whole[..once.len()]), (0, &once[..]));
    assert_eq!(
        whole.last().map(String::as_str),
        Some("TASK_STATE_COMPLETED"),
        "the question is not the end of the log"
    );
}

#[test]
fn a_log_that_is_not_there_is_an_error_with_the_way_to_the_task() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let id = task(&home, &agent, "echo one");
    let events = ["task", "events", &id, "-a", &agent.address, "-o", "json"];
    let error = home.run(&events).error("UnsupportedOperationError", 1);
    assert!(error["message"].as_str().unwrap().contains("has no log of task"), "{error}");
    assert!(error["hint"].as_str().unwrap().starts_with("nuncio task get "), "{error}");
    let card = r#"{"name": "x", "description": "x", "version": "1", "capabilities": {"streaming": true},
        "supportedInterfaces": [{"url": "URL", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}],
        "defaultInputModes": [], "defaultOutputModes": [], "skills": []}"#;
    home.write("card.json", &card.replace("URL", &format!("http://{}", agent.address)));
    let error =
        home.run(&["task", "events", &id, "-a", "card.json", "-o", "json"]).error("UnsupportedOperationError", 1);
    assert!(error["message"].as_str().unwrap().contains("extensions/resume/v1"), "{error}");
    home.run(&["task", "events", "nope", "-a", &agent.address, "-o", "json"]).error("TaskNotFoundError", 1);
}
