//! Errors for wrong command lines and settings, with their hints.

use serde_json::json;

use crate::{agent::Home, site::Site};

/// The message and the hint of a refused command, in both output formats.
fn refused(home: &Home, arguments: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let json = home.run_with(&[arguments, &["-o", "json"]].concat(), environment, "");
    let error = json.error("A2ACLI_ERR_USAGE", 2);
    // The usage has what was given.
    let hint = error["hint"].as_str().unwrap().replace("--output <FORMAT> ", "");
    let message = error["message"].as_str().unwrap();
    let text = home.run_with(arguments, environment, "");
    assert_eq!((text.code, text.out.as_str()), (2, ""), "{text:?}");
    assert!(text.err.ends_with(&format!("Error: {message}\nhint: {hint}\n")), "{error} and {text:?}");
    (message.to_owned(), hint)
}

#[test]
fn all_errors_have_one_voice() {
    let home = Home::new();
    for (arguments, message, hint) in [
        (&["send", "x", "--no-such-flag", "-a", "localhost:1"][..], "unexpected argument '--no-such-flag' found", ""),
        (&["send", "x", "--strem"], "unexpected argument '--strem' found", "'--stream'"),
        (
            &["task", "get"],
            "the following required arguments were not provided: <TASK_ID>",
            "usage: nuncio task get <TASK_ID>",
        ),
        (&["no-such-command"], "unrecognized subcommand 'no-such-command'", ""),
        (&["send", "x", "--media-type", "a/b"], "--media-type must come right behind the part flag that it is for", ""),
        (&["task", "list", "--limit", "-1"], "invalid value '-1' for '--limit <N>': -1 is not in 1..=100", ""),
        (&["task"], "a command is missing", "--help"),
        (&[], "a command is missing", "--help"),
    ] {
        let said = refused(&home, arguments, &[]);
        assert!(said.0 == message && said.1.contains(hint), "{arguments:?}: {said:?}");
    }
}

#[test]
fn a_secret_that_cannot_be_sent_is_told_by_its_flag() {
    let home = Home::new();
    let list = ["task", "list", "-a", "localhost:1"];
    let said = "it has a line break or another character that no header can have";
    for (flag, placeholder, value) in [
        ("bearer", "TOKEN", "made-up\nsecret"),
        ("api-key", "KEY", "made-up\n\nsecret"),
        ("auth", "VALUE", "Bearer made-up\u{7f}secret"),
        ("svc-param", "NAME:VALUE", "X-A: made-up\rsecret"),
    ] {
        let (message, hint) = refused(&home, &[&list[..], &[&format!("--{flag}"), value]].concat(), &[]);
        assert_eq!(message, format!("invalid value for '--{flag} <{placeholder}>': {said}"));
        assert!(!hint.contains("secret"), "{hint}");
        let variable = format!("A2ACLI_{}", flag.replace('-', "_").to_uppercase());
        let (message, hint) = refused(&home, &list, &[(&variable, value)]);
        assert_eq!(message, format!("{flag} from environment variable {variable}: {said}"));
        assert!(hint.contains(&variable), "{hint}");
    }
    for (value, what) in [("made-up-secret", "it has no colon"), (":made-up-secret", "it has no name before the colon")]
    {
        let said = format!("NAME:VALUE is wanted, and {what}");
        let (message, _) = refused(&home, &[&list[..], &["--svc-param", value]].concat(), &[]);
        assert_eq!(message, format!("invalid value for '--svc-param <NAME:VALUE>': {said}"));
        let (message, _) = refused(&home, &list, &[("A2ACLI_SVC_PARAM", value)]);
        assert_eq!(message, format!("svc-param from environment variable A2ACLI_SVC_PARAM: {said}"));
    }
}

#[test]
fn a_length_of_history_is_no_negative_number() {
    let home = Home::new();
    for command in [&["send", "x"][..], &["task", "get", "t"], &["task", "list"]] {
        let (message, hint) = refused(&home, &[command, &["--history", "-1"]].concat(), &[]);
        assert!(message.contains("`-1` is not a number of messages") && !hint.contains("-- -1"), "{message}, {hint}");
        let wrong = [("A2ACLI_HISTORY", "-1"), ("A2ACLI_OUTPUT", "json")];
        let error = home.run_with(&[command, &["-a", "localhost:1"]].concat(), &wrong, "").error("A2ACLI_ERR_USAGE", 2);
        assert!(error["message"].as_str().unwrap().contains("A2ACLI_HISTORY: `-1` is not"), "{error}");
    }
    let (message, _) = refused(&home, &["task", "get", "t", "--timeout", "-5"], &[]);
    assert!(message.contains("`-5` is not a duration"), "{message}");
}

/// A negative value, or zero for a positive setting, is refused with the name of the flag.
#[test]
fn settings_of_a_server_are_no_negative_numbers_and_some_not_zero() {
    let home = Home::new();
    let serve =
        |[flag, value]: [&str; 2]| ["serve", "--port", "0", "--store", "memory", flag, value].map(str::to_owned);
    for setting in [["--max-requests", "-1"], ["--max-body", "-1"], ["--drain", "-5"]] {
        let run = home.run(&serve(setting).iter().map(String::as_str).chain(["-o", "json"]).collect::<Vec<_>>());
        let error = run.error("A2ACLI_ERR_USAGE", 2);
        let [flag, value] = setting;
        assert!(error["message"].as_str().unwrap().starts_with(&format!("{flag}: `{value}` is not ")), "{error}");
        assert_eq!(error["hint"], format!("--help says what {flag} takes"));
    }
    let refused = |setting| refused(&home, &serve(setting).iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let (_, hint) = refused(["--drain", "-5s"]);
    assert_eq!(hint, "a value that begins with a hyphen is written with `=`: --drain=-5s");
    for (flag, zero, default) in [
        ("--stall-timeout", "0", "none"),
        ("--keep-alive", "0s", "15s"),
        ("--max-body", "0", "16M"),
        ("--max-turns", "0", "100000"),
        ("--max-processes", "0", "256"),
    ] {
        let said = refused([flag, zero]);
        let (message, hint) =
            (format!("{flag}: it must be more than 0"), format!("leave it out for the default: {default}"));
        assert_eq!(said, (message, hint));
    }
    // In this context the word means a disabled feature.
    home.serve(&[
        "--store",
        "memory",
        "--max-queued-messages",
        "0",
        "--max-webhooks",
        "0",
        "--cancel-grace",
        "0",
        "--drain",
        "0",
    ]);
}

#[test]
fn what_a_payload_lacks_is_said() {
    let home = Home::new();
    for (payload, message) in [
        ("{}", "--request-payload has no message"),
        (r#"{"message": null}"#, "--request-payload has no message"),
        (r#"{"message": {}}"#, "the message of --request-payload has no parts"),
        (r#"{"message": {"parts": []}}"#, "the message of --request-payload has no parts"),
    ] {
        let said = refused(&home, &["send", "--request-payload", payload, "-a", "localhost:1"], &[]);
        assert_eq!(said.0, message, "{payload}");
    }
}

#[test]
fn a_slip_in_a_variable_is_said() {
    let home = Home::new();
    let slip = [("A2ACLI_BEARERR", "made-up-secret"), ("A2ACLI_TENANT", "t"), ("A2ACLI_CONFIG", "mine.env")];
    home.write("mine.env", "");
    let run = home.run_with(&["config", "show"], &slip, "").ok();
    let said = "warning: environment variable A2ACLI_BEARERR is not a setting; did you mean `A2ACLI_BEARER`?\n";
    assert_eq!(run.err, said, "{run:?}");
}

#[test]
fn what_is_no_origin_is_not_trusted() {
    let home = Home::new();
    for text in ["nonsense", "*", "https://*.a.example", "https://a.example/rpc", "ftp://a.example"] {
        let (message, hint) = refused(&home, &["task", "list", "-a", "localhost:1", "--trust-origin", text], &[]);
        assert!(message.contains(&format!("`{text}` is not an origin")) && hint.contains("host:port"), "{message}");
    }
}

#[test]
fn the_flag_that_is_named_is_the_one_that_works() {
    let home = Home::new();
    let agent = home.serve(&["--token", "alice=made-up-secret"]);
    let mut card = home.run(&["card", "get", &agent.address, "-o", "json"]).ok().json();
    for (binding, url) in [("GRPC", agent.address.clone()), ("JSONRPC", format!("http://{}/", agent.address))] {
        card["supportedInterfaces"] = json!([{"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}]);
        let text = card.to_string();
        let site = Site::start(move |_| (200, text.clone()));
        let list = ["task", "list", "-a", &site.url, "--bearer", "made-up-secret"];
        let run = home.run(&list);
        assert_eq!(run.code, 4, "{run:?}");
        let flag = format!("--trust-origin http://{}", agent.address);
        assert_eq!(run.err.matches(&flag).count(), 2, "the warning and the hint name it: {run:?}");
        let trusting = flag.split(' ').collect::<Vec<_>>();
        home.run(&[&list[..], &trusting].concat()).ok();
    }
    // As the card writes the address of gRPC.
    card["supportedInterfaces"] = json!([{"url": agent.address, "protocolBinding": "GRPC", "protocolVersion": "1.0"}]);
    let site = Site::start(move |_| (200, card.to_string()));
    let list = ["task", "list", "-a", &site.url, "--bearer", "made-up-secret", "--trust-origin", &agent.address];
    home.run(&list).ok();
}
