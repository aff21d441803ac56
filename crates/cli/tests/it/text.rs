//! The format for people: fields, blocks, no escape sequences; what is not a result goes to stderr.

use serde_json::{Value, json};

use crate::{agent::Home, site::Site};

#[test]
fn a_task_has_its_ids_its_state_and_its_content() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "echo one\ntwo", "-a", &agent.address]).ok();
    let lines: Vec<_> = run.out.lines().collect();
    assert!(lines[0].starts_with("Task: ") && lines[1].starts_with("Context: "), "{}", run.out);
    assert_eq!(lines[2], "State: completed");
    assert!(run.out.contains("Artifact: echo-1\nText:\none\ntwo\n\n"), "{}", run.out);
    assert_eq!(run.err, "");
}

#[test]
fn a_parked_task_says_how_to_go_on() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "input", "-a", &agent.address]).ok();
    assert!(run.out.contains("State: input-required\n"), "{}", run.out);
    let id = run.out.lines().next().unwrap().strip_prefix("Task: ").unwrap();
    let resume = format!("Resume: nuncio send --task-id {id} -a {} \"<reply>\"\n", agent.address);
    assert!(run.out.ends_with(&resume), "{}", run.out);
    assert!(run.err.contains("warning: "), "{}", run.err);
    let failed = home.run(&["send", "fail", "-a", &agent.address]).ok();
    assert!(failed.out.contains("State: failed") && failed.err.contains("warning: the task is failed"));
}

#[test]
fn what_says_how_to_go_on_reaches_the_same_agent() {
    let home = Home::new();
    let agent = home.serve(&[]);
    home.write("agent's.env", &format!("A2ACLI_AGENT_CARD={}\n", agent.address));
    let run = home.run(&["send", "input", "--config", "agent's.env", "--transport", "rest", "--card-auth"]).ok();
    let line = run.out.lines().find_map(|line| line.strip_prefix("Resume: nuncio ")).unwrap();
    let (before, after) = line.split_once("'agent'\\''s.env'").unwrap();
    let mut words: Vec<&str> = before.split_whitespace().collect();
    words.push("agent's.env");
    words.extend(after.split_whitespace().map(|word| if word == "\"<reply>\"" { "blue" } else { word }));
    assert!(words.contains(&"--config") && words.contains(&"--card-auth") && words.contains(&"rest"), "{line}");
    let answered = home.run(&words).ok();
    assert!(answered.out.contains("State: completed\n"), "{}", answered.out);
}

#[test]
fn no_part_is_left_out() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "parts", "-a", &agent.address]).ok();
    for expected in [
        "Text:\nhéllo ✓\n",
        "File: all.bin, application/octet-stream, 256 bytes\n",
        "File: https://example.com/o.txt, o.txt, text/plain\n",
        "Data:\n{\n  \"k\": [\n",
    ] {
        assert!(run.out.contains(expected), "{expected} in {}", run.out);
    }
}

#[test]
fn nothing_steers_the_terminal() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "echo a\u{1b}[31mred", "-a", &agent.address]).ok();
    assert!(run.out.contains(r"a\u{1b}[31mred") && !run.out.contains('\u{1b}'), "{:?}", run.out);
}

#[test]
fn an_error_is_two_lines_on_stderr() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["task", "get", "nope", "-a", &agent.address]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    let lines: Vec<_> = run.err.lines().collect();
    assert!(lines[0].starts_with("Error: ") && lines[1].starts_with("hint: ") && lines.len() == 2, "{}", run.err);
}

#[test]
fn help_version_and_completion_go_to_stdout() {
    let home = Home::new();
    assert!(home.run(&["--version"]).ok().out.starts_with("nuncio 0."));
    assert!(home.run(&["version", "-o", "json"]).ok().json()["version"].is_string());
    let help = home.run(&["help", "send"]).ok().out.split_whitespace().collect::<Vec<_>>().join(" ");
    for default in ["[default: text]", "[default: true]", "[default: as the card has them]", "[default: verify]"] {
        assert!(help.contains(default), "{default} in {help}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.run(&["completion", shell]).ok().out.contains("nuncio"));
    }
}

#[test]
fn help_shows_what_is_set() {
    let home = Home::new();
    home.write(".env", "A2ACLI_TIMEOUT=7s\nA2ACLI_BEARER=made-up-secret\n[localhost:2]\nA2ACLI_TIMEOUT=8s\n");
    home.write("other.env", "A2ACLI_TIMEOUT=9s\n");
    let help = |arguments: &[&str]| {
        let set = [("A2ACLI_OUTPUT", "json"), ("A2ACLI_INSECURE", "true"), ("A2ACLI_WAIT", "false")];
        let out = home.run_with(arguments, &set, "").ok().out;
        assert!(!out.contains("-secret"), "{out}");
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for arguments in [&["send", "--help"][..], &["send", "-h"], &["help", "send"]] {
        let help = help(arguments);
        for told in [
            "certificates [default: true, from environment variable A2ACLI_INSECURE]",
            "stdout [default: json, from environment variable A2ACLI_OUTPUT]",
            "interrupted [default: false, from environment variable A2ACLI_WAIT]",
            "for example 30s [default: 7s, from ",
            "A bearer token [default: ***, from ",
            "does not stream [default: 2s]",
        ] {
            assert!(help.contains(told), "{told} in {help}");
        }
    }
    let get = help(&["task", "get", "--help"]);
    assert!(get.contains("interrupted [default: false] [alias"), "it does not look at that: {get}");
    assert!(help(&["send", "-a", "localhost:2", "--help"]).contains("[default: 8s, from "));
    assert!(help(&["send", "--config=other.env", "--help"]).contains("[default: 9s, from other.env, line 1]"));
    assert!(help(&["send", "--config", "none", "--help"]).contains("[default: never]"), "still a help");
}

#[test]
fn help_offers_what_has_an_effect() {
    let home = Home::new();
    let help = |command: &[&str]| home.run(&[command, &["--help"]].concat()).ok().out;
    for (command, flag, is_offered) in [
        (&["send"][..], "--stream", true),
        (&["task", "subscribe"], "--stream", true),
        (&["task", "get"], "--stream", false),
        (&["task", "push-config", "list"], "--stream", false),
        (&["serve"], "--stream", false),
        (&["serve"], "--output", true),
        (&["completion"], "--output", false),
        (&["task", "list"], "A2ACLI_AGENT_CARD", true),
        (&["serve"], "A2ACLI_AGENT_CARD", false),
    ] {
        assert_eq!(help(command).contains(flag), is_offered, "{command:?} {flag}");
    }
    assert!(home.run(&["version", "--stream", "-o", "json"]).ok().json().is_object());
    home.run(&["completion", "bash", "-o", "json", "--stream"]).ok();
    let create = help(&["task", "push-config", "create"]);
    let webhook = create.split("Webhook:").nth(1).unwrap().split("Output:").next().unwrap();
    for flag in ["--url", "--id", "--token", "--auth-scheme", "--auth-credentials"] {
        assert!(webhook.contains(flag), "{flag} in {create}");
    }
}

#[test]
fn an_empty_last_chunk_is_no_line() {
    let home = Home::new();
    let agent = home.serve(&["--exec", "--", "printf", "a\\nb\\n"]);
    let run = home.run(&["send", "x", "--stream", "-a", &agent.address]).ok();
    assert!(run.out.contains("Text:\na\nb\n\nTask: ") && run.out.matches("Artifact: ").count() == 1, "{}", run.out);
    let lines = home.run(&["send", "x", "--stream", "-o", "json", "-a", &agent.address]).ok().lines();
    assert!(lines.iter().any(|it| it["artifactUpdate"]["lastChunk"] == true), "{lines:?}");
}

#[test]
fn a_page_names_the_command_of_the_next_and_a_card_that_is_valid_is_said_to_be() {
    let home = Home::new();
    let agent = home.serve(&[]);
    for text in ["echo a", "echo b"] {
        home.run(&["send", text, "-a", &agent.address]).ok();
    }
    let first = home.run(&["task", "list", "--limit", "1", "-a", &agent.address]).ok().out;
    let next = first.lines().find_map(|line| line.strip_prefix("Next: nuncio ")).unwrap();
    let second = home.run(&next.split(' ').collect::<Vec<_>>()).ok().out;
    assert!(second.contains("Shown: 1\n") && second.lines().next() != first.lines().next(), "{first}{second}");
    let page = home.run(&["task", "list", "--limit", "1", "-o", "jsonl", "-a", &agent.address]).ok();
    assert_eq!(page.lines().len(), 1);
    let next = page.err.split("hint: the next page: nuncio ").nth(1).unwrap_or_else(|| panic!("{page:?}"));
    let last =
        home.run(&next.trim().split(' ').collect::<Vec<_>>().into_iter().chain(["-o", "jsonl"]).collect::<Vec<_>>());
    assert_eq!((last.lines().len(), last.err.as_str()), (1, ""));
    assert_ne!(last.out, page.out);
    let valid = home.run(&["card", "get", &agent.address, "--validate"]).ok();
    assert_eq!(valid.err, "the card is valid\n");
}

#[test]
fn a_list_shows_the_artifacts_that_were_asked_for() {
    let home = Home::new();
    let agent = home.serve(&[]);
    home.run(&["send", "echo hello", "-a", &agent.address]).ok();
    let bare = home.run(&["task", "list", "-a", &agent.address]).ok().out;
    assert!(!bare.contains("Artifact: ") && !bare.contains("Text:"), "{bare}");
    let whole = home.run(&["task", "list", "--with-artifacts", "-a", &agent.address]).ok().out;
    let (task, page) = whole.split_once("Shown: ").unwrap();
    assert!(task.contains("Artifact: ") && task.contains("Text:\nhello\n"), "{whole}");
    assert!(page.starts_with("1\n"), "{whole}");
}

/// As LangGraph and Microsoft's Agent Framework answer.
#[test]
fn an_answer_that_only_the_history_has_is_shown() {
    let home = Home::new();
    let shown = |status: Value, artifacts: Value| {
        let message = |role: &str, text: &str| json!({"messageId": text, "role": role, "parts": [{"text": text}]});
        let history = [message("ROLE_USER", "hi"), message("ROLE_AGENT", "the answer")];
        let task = json!({"id": "t", "contextId": "c", "status": status, "artifacts": artifacts, "history": history});
        let body = json!({"jsonrpc": "2.0", "id": 1, "result": task}).to_string();
        let site = Site::start(move |_| (200, body.clone()));
        home.run(&["task", "get", "t", "-e", &site.url, "--transport", "jsonrpc", "--a2a-version", "1.0"]).ok().out
    };
    let said = |text: &str| json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]});
    let answer = "History: agent\nText:\nthe answer\n";
    let completed = json!({"state": "TASK_STATE_COMPLETED"});
    let out = shown(completed.clone(), json!([]));
    assert!(out.ends_with(&format!("State: completed\n{answer}\n")), "{out}");
    let out = shown(json!({"state": "TASK_STATE_COMPLETED", "message": said("Task completed")}), json!([]));
    assert!(out.ends_with(&format!("Text:\nTask completed\n\n{answer}\n")), "{out}");
    for (status, artifacts) in [
        (json!({"state": "TASK_STATE_COMPLETED", "message": said("the answer")}), json!([])),
        (completed, json!([{"artifactId": "a", "parts": [{"text": "the artifact"}]}])),
        (json!({"state": "TASK_STATE_WORKING"}), json!([])),
    ] {
        let out = shown(status, artifacts);
        assert!(!out.contains("History:"), "{out}");
    }
}

#[test]
fn one_of_several_ways_to_authenticate_is_enough() {
    let home = Home::new();
    let card = json!({
        "name": "x", "description": "d", "version": "1", "capabilities": {}, "skills": [],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": "http://localhost:1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"a": {"httpAuthSecurityScheme": {"scheme": "bearer"}}, "b": {"mtlsSecurityScheme": {}}},
        "securityRequirements": [{"schemes": {"a": {}, "b": {}}}, {"schemes": {"b": {}}}]
    });
    home.write("card.json", &card.to_string());
    let shown = home.run(&["card", "get", "card.json", "--validate"]).ok().out;
    assert!(shown.contains("Requires: a and b, or b\n"), "{shown}");
}
