//! Each code of section 8 of the cli specification, with envelope and exit code.

use serde_json::json;

use crate::{agent::Home, site::Site};

#[test]
fn wrong_usage() {
    let home = Home::new();
    for arguments in [
        &["send"][..],
        &["send", "x", "y", "-a", "localhost:1"],
        &["send", "x", "--no-such-flag", "-a", "localhost:1"],
        &["send", "x", "--media-type", "a/b", "-a", "localhost:1"],
        &["send", "x", "--metadata", "not json", "-a", "localhost:1"],
        &["send", "x", "--transport", "pigeon", "-a", "localhost:1"],
        &["send", "x", "--stream", "--async", "-a", "localhost:1"],
        &["send", "x", "-e", "http://localhost:1"],
        &["send", "x", "-e", "http://localhost:1", "--transport", "rest,grpc"],
        &["send", "x", "-a", "localhost:1", "-e", "http://localhost:1", "--transport", "rest"],
        &["send", "x", "-a", "ftp://localhost"],
        &["send", "--file-part", "no-such-file", "-a", "localhost:1"],
        &["task", "get"],
        &["task", "list", "--status", "made-up", "-a", "localhost:1"],
        &["task", "get", "x", "--timeout", "soon", "-a", "localhost:1"],
        &["no-such-command"],
        &["serve", "--exec"],
        &["serve", "--port", "many"],
    ] {
        let run = home.run(&[arguments, &["-o", "json"]].concat());
        let error = run.error("A2ACLI_ERR_USAGE", 2);
        assert_eq!(error.as_object().unwrap().len(), 4, "{error}");
        assert_eq!(run.out.lines().count(), 1);
        let text = home.run(arguments);
        assert_eq!((text.code, text.out.as_str()), (2, ""), "{arguments:?}");
    }
    home.run(&["send", "x", "-o", "json"]).error("A2ACLI_ERR_USAGE", 2);
}

#[test]
fn no_card_and_no_agent() {
    let home = Home::new();
    let site = Site::start(|_| (404, String::new()));
    let error = home.run(&["card", "get", &site.url, "-o", "json"]).error("A2ACLI_ERR_CARD_NOT_FOUND", 3);
    for request in site.requests() {
        let path = request.split(' ').nth(1).unwrap();
        assert!(error["message"].as_str().unwrap().contains(path), "{error}");
    }
    home.run(&["card", "get", "./none.json", "-o", "json"]).error("A2ACLI_ERR_CARD_NOT_FOUND", 3);
    let error = home.run(&["card", "get", "none.json", "-o", "json"]).error("A2ACLI_ERR_CARD_NOT_FOUND", 3);
    assert_eq!(error["message"], "no agent card for none.json: there is no such file");
    home.run(&["send", "x", "-a", "127.0.0.1:1", "-o", "json"]).error("A2ACLI_ERR_UNREACHABLE", 3);
    for (url, transport) in [("http://127.0.0.1:1", "jsonrpc"), ("http://127.0.0.1:1", "rest"), ("127.0.0.1:1", "grpc")]
    {
        let run = home.run(&["send", "x", "-e", url, "--transport", transport, "-o", "json"]);
        run.error("A2ACLI_ERR_UNREACHABLE", 3);
    }
}

#[test]
fn a_card_that_cannot_be() {
    let home = Home::new();
    for (index, card) in ["{", "[]", "{}", r#"{"name": 5}"#, r#"{"name": "x"}"#].iter().enumerate() {
        let name = format!("card{index}.json");
        home.write(&name, card);
        home.run(&["send", "x", "-a", &name, "-o", "json"]).error("A2ACLI_ERR_CARD_INVALID", 1);
    }
    for body in ["[]", "<html>"] {
        let site = Site::start(move |_| (200, body.to_owned()));
        for place in ["/card.json", ""] {
            let reference = format!("{}{place}", site.url);
            home.run(&["send", "x", "-a", &reference, "-o", "json"]).error("A2ACLI_ERR_CARD_INVALID", 1);
        }
    }
    home.write("half.json", r#"{"name": "x", "supportedInterfaces": [{"url": "a", "protocolBinding": "JSONRPC"}]}"#);
    let error = home.run(&["card", "get", "half.json", "--validate", "-o", "json"]).error("A2ACLI_ERR_CARD_INVALID", 1);
    assert!(error["message"].as_str().unwrap().contains("skills is missing"), "{error}");
    for (card, expected) in
        [("{\n  \"name\": \"x\",\n}", "line 3 column 1"), (r#"{"name": 5}"#, "; version is missing")]
    {
        home.write("bad.json", card);
        let error =
            home.run(&["card", "get", "bad.json", "--validate", "-o", "json"]).error("A2ACLI_ERR_CARD_INVALID", 1);
        assert!(error["message"].as_str().unwrap().contains(expected), "{error}");
        assert!(!error["hint"].as_str().unwrap().contains("--validate"), "{error}");
    }
}

#[test]
fn credentials_missing_refused_and_of_the_wrong_kind() {
    let home = Home::new();
    let agent = home.serve(&["--token", "alice=alices-secret"]);
    for transport in ["jsonrpc", "rest", "grpc"] {
        let send = |more: &[&str]| {
            home.run(
                &[&["send", "echo x", "-o", "json", "-a", &agent.address, "--transport", transport], more].concat(),
            )
        };
        send(&[]).error("A2ACLI_ERR_CREDENTIALS_MISSING", 4);
        send(&["--bearer", "wrong-secret"]).error("A2ACLI_ERR_AUTH_FAILED", 4);
        send(&["--bearer", "alices-secret"]).ok();
        send(&["--api-key", "alices-secret"]).ok();
        send(&["--svc-param", "Authorization: Bearer alices-secret"]).ok();
        send(&["--auth", "Bearer alices-secret"]).ok();
    }
    let mut card = home.run(&["card", "get", &agent.address, "-o", "json"]).ok().json();
    card["securityRequirements"] = json!([{"schemes": {"mine": {}}}]);
    card["securitySchemes"] = json!({"mine": {"apiKeySecurityScheme": {"location": "header", "name": "x-mine"}}});
    home.write("card.json", &card.to_string());
    let run = home.run(&["send", "x", "-a", "card.json", "--bearer", "some-secret", "-o", "json"]);
    run.error("A2ACLI_ERR_CREDENTIALS_MISSING", 4);
    card["securitySchemes"] = json!({"mine": {"apiKeySecurityScheme": {"location": "cookie", "name": "mine"}}});
    home.write("card.json", &card.to_string());
    let error = home.run(&["send", "x", "-a", "card.json", "--api-key", "some secret", "-o", "json"]);
    let error = error.error("A2ACLI_ERR_USAGE", 2);
    assert!(
        error["hint"].as_str().unwrap().contains("--api-key") && !error.to_string().contains("some secret"),
        "{error}"
    );
}

#[test]
fn out_of_time() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "slow 30", "--timeout", "300ms", "-o", "json", "-a", &agent.address]);
    let error = run.error("A2ACLI_ERR_TIMEOUT", 5);
    assert!(error["hint"].as_str().unwrap().contains("nuncio task get --wait"), "{error}");
    let id = error["message"].as_str().unwrap().split(' ').nth(1).unwrap();
    home.run(&["task", "cancel", id, "-a", &agent.address]).ok();
}

#[test]
fn errors_of_the_agent_have_their_names_on_every_transport() {
    let home = Home::new();
    let agent = home.serve(&["--without", "push"]);
    let done = home.run(&["send", "echo x", "-o", "json", "-a", &agent.address]).ok().json()["task"]["id"].clone();
    let done = done.as_str().unwrap();
    for transport in ["jsonrpc", "rest", "grpc"] {
        let run = |arguments: &[&str]| {
            home.run(&[arguments, &["-o", "json", "-a", &agent.address, "--transport", transport]].concat())
        };
        for arguments in
            [&["task", "get", "nope"][..], &["task", "cancel", "nope"], &["send", "x", "--task-id", "nope"]]
        {
            let error = run(arguments).error("TaskNotFoundError", 1);
            let code = if transport == "jsonrpc" {
                -32001
            } else if transport == "rest" {
                404
            } else {
                5
            };
            assert_eq!(error["a2aCode"], code);
            assert!(error["hint"].as_str().unwrap().contains("--debug"));
        }
        run(&["task", "cancel", done]).error("TaskNotCancelableError", 1);
        run(&["send", "x", "--task-id", done]).error("UnsupportedOperationError", 1);
        // A task that has ended has no events to come: the command prints the task.
        assert_eq!(run(&["task", "subscribe", done]).ok().json()["id"], *done);
        run(&["send", "x", "--a2a-version", "9.9"]).error("VersionNotSupportedError", 1);
        run(&["send", "x", "--text-part", "y", "--media-type", "video/mp4"]).error("ContentTypeNotSupportedError", 1);
        run(&["task", "push-config", "list", done]).error("PushNotificationNotSupportedError", 1);
        let error = run(&["task", "list", "--limit", "1000"]).error("A2ACLI_ERR_USAGE", 2);
        assert!(error["message"].as_str().unwrap().contains("--limit"), "{error}");
    }
}

#[test]
fn a_code_without_a_name_is_shown_as_it_came() {
    let home = Home::new();
    for (code, name) in [(-32050, "A2ACLI_ERR_INTERNAL"), (-32603, "InternalError")] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "mine"}}).to_string();
        let site = Site::start(move |_| (200, body.clone()));
        for version in ["1.0", "0.3"] {
            let get = ["task", "get", "x", "-e", &site.url, "--transport", "jsonrpc", "--a2a-version", version];
            let error = home.run(&[&get[..], &["-o", "json"]].concat()).error(name, 1);
            assert_eq!((&error["a2aCode"], &error["message"]), (&json!(code), &json!("mine")));
        }
    }
}

#[test]
fn a_timeout_says_what_the_task_waits_for() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let id = home.run(&["send", "input", "-o", "json", "-a", &agent.address]).ok().json()["task"]["id"].clone();
    let watch = ["task", "subscribe", id.as_str().unwrap(), "--stream", "--timeout", "500ms", "-a", &agent.address];
    let run = home.run(&watch);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.err.contains("hint: the task waits for its client; nuncio send --task-id"), "{run:?}");
}

#[test]
fn a_parked_task_is_an_outcome_at_once() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let id = home.run(&["send", "input", "-o", "json", "-a", &agent.address]).ok().json()["task"]["id"].clone();
    let watch = ["task", "subscribe", id.as_str().unwrap(), "--timeout", "20s", "-o", "json", "-a", &agent.address];
    assert_eq!(home.run(&watch).ok().json()["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
}

#[test]
fn no_extended_card_is_no_talk_of_tasks() {
    let home = Home::new();
    let agent = home.serve(&[]);
    for transport in ["jsonrpc", "rest", "grpc"] {
        let run = home.run(&["card", "get", &agent.address, "--extended", "--transport", transport]);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.err.ends_with("hint: without --extended the card for everybody is shown\n"), "{run:?}");
    }
}

#[test]
fn an_answer_that_is_not_of_the_protocol() {
    let home = Home::new();
    let site = Site::start(|_| (200, "[]".to_owned()));
    for transport in ["jsonrpc", "rest"] {
        let run = home.run(&["task", "get", "x", "-e", &site.url, "--transport", transport, "-o", "json"]);
        run.error("InvalidAgentResponseError", 1);
    }
}

#[test]
fn a_private_webhook_may_be_allowed_by_the_server() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let id = home.run(&["send", "input", "-o", "json", "-a", &agent.address]).ok().json()["task"]["id"].clone();
    let id = id.as_str().unwrap();
    for transport in ["jsonrpc", "rest", "grpc"] {
        let create = ["task", "push-config", "create", id, "--url", "http://127.0.0.1:1/", "-a", &agent.address];
        let error =
            home.run(&[&create[..], &["-o", "json", "--transport", transport]].concat()).error("InvalidParamsError", 1);
        assert!(error["hint"].as_str().unwrap().contains("--allow-private-webhooks"), "{error}");
    }
}

#[test]
fn what_is_no_endpoint_is_told_from_an_agent_that_refuses() {
    let home = Home::new();
    let site = Site::start(|_| (501, "<!DOCTYPE html><html><body>Unsupported method</body></html>".to_owned()));
    for transport in ["jsonrpc", "rest"] {
        let run = home.run(&["send", "x", "-e", &site.url, "--transport", transport, "-o", "json"]);
        let error = run.error("InvalidAgentResponseError", 1);
        assert!(!error["message"].as_str().unwrap().contains('<') && error["a2aCode"] == 501, "{error}");
        assert!(error["hint"].as_str().unwrap().contains("is this an A2A endpoint?"), "{error}");
    }
}

#[test]
fn hints_say_what_to_do() {
    let home = Home::new();
    // `serve` refuses this address without tokens, so the command ends in any case.
    home.write("bad.txt", "{} {}");
    home.write("client.toml", "agent-card = 'localhost:1'\n");
    home.write("number.toml", "name = 5\n");
    for (arguments, message, hint) in [
        (&["send", "message", "hi"][..], "unexpected argument 'hi'", "needs quotes"),
        (&["send", "-a", "localhost:1"], "nothing to send", "- to read it from stdin"),
        (
            &["send", "--data-part", "{bad", "-a", "localhost:1"],
            "--data-part is not JSON: key must be a string at line 1 column 2",
            r#"--data-part '{"width":100}'"#,
        ),
        (&["send", "--data-part", "bad.txt", "-a", "localhost:1"], "bad.txt is not JSON", "one JSON value"),
        (&["send", "--file-part", "none", "-a", "localhost:1"], "cannot read none: ", "a file that is there, or a URL"),
        (&["send", "x", "--transport", "pigeon", "-a", "localhost:1"], "jsonrpc, rest and grpc", "--transport takes"),
        (&["send", "x", "--stream", "--async", "-a", "localhost:1"], "does not wait", "task subscribe --stream"),
        (&["task", "list", "--config", "none", "-a", "localhost:1"], "cannot read none: ", "by --config, or none"),
        (
            &["serve", "--host", "0.0.0.0", "--config", "none.toml"],
            "cannot read none.toml: ",
            "NUNCIO_SERVE_CONFIG, or none",
        ),
        (
            &["serve", "--host", "0.0.0.0", "--store", "mysql://x"],
            "--store: `mysql://x` is none of",
            "--store sqlite:./tasks.db",
        ),
        (&["serve", "--host", "0.0.0.0", "--card", "none.json"], "--card none.json: ", "nuncio card get"),
        (
            &["serve", "--host", "0.0.0.0", "--port", "many"],
            "`many` is not a port, a number from 0 to 65535",
            "--port takes",
        ),
        (&["config", "show", "--config", "client.toml"], "`agent-card` is not a setting", "A2ACLI_AGENT_CARD"),
        (&["config", "show", "--config", "number.toml"], "name must be a text, \"5\"", "`nuncio serve --help`"),
    ] {
        let run = home.run(arguments);
        assert_eq!(run.code, 2, "{run:?}");
        let told = run.err.split_once("\nhint: ").unwrap_or_else(|| panic!("{run:?}"));
        assert!(told.0.contains(message) && told.1.contains(hint), "{run:?}");
    }
    let run = home.run_with(&["serve", "--host", "0.0.0.0"], &[("NUNCIO_SERVE_PORT", "abc")], "");
    let hint = "hint: mend or unset NUNCIO_SERVE_PORT; --port wins over it\n";
    assert!(run.code == 2 && run.err.ends_with(hint), "{run:?}");
    let only = json!([{"url": "http://localhost:1", "protocolBinding": "PIGEON", "protocolVersion": "1.0"}]);
    home.write("card.json", &json!({"name": "x", "supportedInterfaces": only}).to_string());
    let error = home.run(&["send", "x", "-a", "card.json", "-o", "json"]).error("A2ACLI_ERR_CARD_INVALID", 1);
    assert!(error["hint"].as_str().unwrap().contains("-e URL --transport NAME"), "{error}");
}

#[test]
fn no_mutual_version_is_no_fault_of_the_card() {
    let home = Home::new();
    let newer = json!([{"url": "http://localhost:1", "protocolBinding": "JSONRPC", "protocolVersion": "1.1"}]);
    home.write("card.json", &json!({"name": "x", "supportedInterfaces": newer}).to_string());
    for pin in [&[][..], &["--a2a-version", "1.0"]] {
        let run = home.run(&[&["send", "x", "-a", "card.json", "-o", "json"], pin].concat());
        let error = run.error("VersionNotSupportedError", 1);
        assert!(error["message"].as_str().unwrap().contains("JSONRPC 1.1 at http://localhost:1"), "{error}");
        assert!(error["a2aCode"].is_null(), "no agent was asked: {error}");
    }
}

#[test]
fn what_cannot_be_sent_says_how_it_can() {
    let home = Home::new();
    let error = home.run(&["send", "x", "--svc-param", "a b:s3cr3t", "-a", "localhost:1", "-o", "json"]);
    let error = error.error("A2ACLI_ERR_USAGE", 2);
    assert!(error["message"].as_str().unwrap().contains("no header has such a name"), "{error}");
    let path = home.path().join("bytes");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    let mut command = home.command(&["send", "-", "-a", "localhost:1", "-o", "json"]);
    let output = command.stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("--file-part PATH"), "{said}");
}

#[test]
fn a_path_without_a_card_is_no_silent_way_to_another_agent() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let wrong = format!("http://{}/wrong", agent.address);
    for command in [&["send", "echo x"][..], &["task", "list"]] {
        let error = home.run(&[command, &["-o", "json", "-a", &wrong]].concat()).error("A2ACLI_ERR_CARD_NOT_FOUND", 3);
        assert!(error["message"].as_str().unwrap().starts_with(&format!("no card at {wrong}: ")), "{error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.ends_with(&format!("say -a http://{} --tenant wrong", agent.address)), "{error}");
    }
    // A card is shown, with a warning.
    let shown = home.run(&["card", "get", "-o", "json", "-a", &wrong]).ok();
    assert!(shown.err.starts_with(&format!("warning: no card at {wrong}: ")), "{}", shown.err);
    assert_eq!(home.run(&["send", "echo x", "-a", &format!("http://{}", agent.address)]).ok().err, "");
}

#[test]
fn the_interface_is_shown_and_another_than_wanted_is_warned_of() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "echo x", "-v", "--transport", "rest", "-a", &agent.address]).ok();
    assert!(run.err.contains("interface: http://") && run.err.contains("HTTP+JSON 1.0"), "{run:?}");
    let pinned = ["send", "echo x", "--a2a-version", "0.1", "--transport", "grpc", "-a", &agent.address];
    let run = home.run(&pinned);
    assert!(run.err.contains("does not list GRPC in version 0.1; the agent is called by JSONRPC"), "{run:?}");
}

#[test]
fn the_interface_that_is_shown_is_the_one_that_answered() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let mut card = home.run(&["card", "get", &agent.address, "-o", "json"]).ok().json();
    let dead = json!({"url": "http://127.0.0.1:1/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let alive = format!("http://{}/", agent.address);
    let live = json!({"url": alive, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
    card["supportedInterfaces"] = json!([dead, live]);
    home.write("card.json", &card.to_string());
    let run = home.run(&["send", "echo x", "-v", "-a", "card.json"]).ok();
    assert_eq!(run.err, format!("interface: {alive}, HTTP+JSON 1.0\n"));
    let run = home.run(&["send", "echo x", "-v", "-e", "http://127.0.0.1:1", "--transport", "jsonrpc"]);
    assert!(run.code == 3 && !run.err.contains("interface:"), "none was reached: {run:?}");
}

#[test]
fn a_script_can_have_a_task_that_failed_fail() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = |arguments: &[&str]| home.run(&[arguments, &["-a", &agent.address]].concat());
    assert_eq!(run(&["send", "fail", "--fail"]).code, 1);
    run(&["send", "fail"]).ok();
    run(&["send", "echo x", "--fail"]).ok();
    run(&["send", "input", "--fail"]).ok();
    let id = run(&["send", "fail", "-o", "json"]).ok().json()["task"]["id"].clone();
    assert_eq!(run(&["task", "get", id.as_str().unwrap(), "--fail"]).code, 1);
    run(&["task", "get", id.as_str().unwrap()]).ok();
}

#[test]
fn a_file_that_is_too_large_is_told_from_a_broken_connection() {
    let home = Home::new();
    let agent = home.serve(&["--max-body", "1M"]);
    std::fs::write(home.path().join("big.bin"), vec![7; 20 << 20]).unwrap();
    for transport in ["jsonrpc", "rest"] {
        let send = ["send", "x", "--file-part", "big.bin", "-o", "json", "--transport", transport];
        let error = home.run(&[&send[..], &["-a", &agent.address]].concat()).error("InvalidRequestError", 1);
        assert!(error["hint"].as_str().unwrap().contains("--max-body"), "{error}");
    }
}

#[test]
fn bytes_are_sent_as_they_are_over_grpc_so_nothing_is_said_of_base64() {
    let home = Home::new();
    let agent = home.serve(&["--max-body", "2K"]);
    let text = "x".repeat(4096);
    for (transport, says_so) in [("jsonrpc", true), ("rest", true), ("grpc", false)] {
        let run = home.run(&["send", &text, "--transport", transport, "-o", "json", "-a", &agent.address]);
        let error: serde_json::Value = run.json()["error"].clone();
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("--max-body") && hint.contains("base64") == says_so, "{transport}: {error}");
    }
}
