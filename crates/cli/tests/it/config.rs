//! Where settings come from, and which wins.

use serde_json::Value;

use crate::agent::{Home, Run};

/// The value of a setting and its source.
fn setting(run: Run, name: &str) -> (String, String) {
    let document = run.ok().json();
    let found = document["settings"].as_array().unwrap().iter().find(|it| it["name"] == name).cloned().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&found["value"]), text(&found["source"]))
}

const SHOW: [&str; 4] = ["config", "show", "-o", "json"];

#[test]
fn a_flag_beats_the_environment_which_beats_files() {
    let home = Home::new();
    home.write(".config/a2a-cli/.env", "A2ACLI_TENANT=user\nA2ACLI_POLL_INTERVAL=7s\n");
    let show = |environment: &[(&str, &str)], more: &[&str]| {
        setting(home.run_with(&[&SHOW, more].concat(), environment, ""), "tenant")
    };
    let (value, source) = show(&[], &[]);
    assert_eq!(value, "user");
    assert!(source.ends_with(".config/a2a-cli/.env, line 1"), "{source}");
    home.write(".env", "# mine\nexport A2ACLI_TENANT=\"local\"\n");
    assert_eq!(show(&[], &[]).0, "local");
    home.write("other.env", "A2ACLI_TENANT=named\n");
    assert_eq!(show(&[], &["--config", "other.env"]).0, "named");
    assert_eq!(show(&[], &["--env-file", "other.env"]).0, "named");
    let set = [("A2ACLI_TENANT", "set")];
    assert_eq!(show(&set, &[]), ("set".into(), "environment variable A2ACLI_TENANT".into()));
    assert_eq!(show(&set, &["--tenant", "flag"]), ("flag".into(), "flag".into()));
    assert_eq!(setting(home.run(&SHOW), "poll-interval").0, "7s");
    assert_eq!(setting(home.run(&SHOW), "verbose"), ("false".into(), "built in".into()));
}

#[test]
fn a_section_is_for_one_agent() {
    let home = Home::new();
    home.write(".env", "A2ACLI_AGENT_CARD=localhost:1\nA2ACLI_TENANT=all\n[localhost:2]\nA2ACLI_TENANT=two\n");
    assert_eq!(setting(home.run(&SHOW), "tenant").0, "all");
    let (value, source) = setting(home.run(&[&SHOW[..], &["-a", "localhost:2"]].concat()), "tenant");
    assert_eq!(value, "two");
    assert!(source.ends_with(".env [localhost:2], line 4"), "{source}");
}

#[test]
fn secrets_are_not_shown_and_their_files_should_be_ones_own() {
    let home = Home::new();
    home.write(".env", "A2ACLI_BEARER=file-secret\n");
    let run = home.run_with(&["config", "show"], &[("A2ACLI_API_KEY", "set-secret")], "").ok();
    assert!(!format!("{run:?}").contains("-secret"), "{run:?}");
    assert!(run.out.contains("bearer: *** (") && run.err.contains("chmod 600"), "{run:?}");
}

#[test]
fn settings_take_effect() {
    let home = Home::new();
    let agent = home.serve(&["--token", "alice=alices-secret"]);
    let environment =
        [("A2ACLI_AGENT_CARD", agent.address.as_str()), ("A2ACLI_BEARER", "alices-secret"), ("A2ACLI_OUTPUT", "json")];
    let task = home.run_with(&["send", "whoami"], &environment, "").ok().json();
    assert!(task["task"]["artifacts"].to_string().contains("alice"));
    let asked = home.run_with(&["send", "slow 30"], &[&environment[..], &[("A2ACLI_ASYNC", "true")]].concat(), "");
    let state = asked.ok().json()["task"]["status"]["state"].clone();
    assert!(state == "TASK_STATE_SUBMITTED" || state == "TASK_STATE_WORKING", "{state}: it was waited for");
    let wrong = home.run_with(&["send", "x"], &[&environment[..], &[("A2ACLI_TIMEOUT", "soon")]].concat(), "");
    let error = wrong.error("A2ACLI_ERR_USAGE", 2);
    assert!(error["message"].as_str().unwrap().contains("A2ACLI_TIMEOUT"), "{error}");
}

#[test]
fn a_setting_that_the_commands_would_refuse_is_refused() {
    let home = Home::new();
    for (name, value, said) in [
        ("TIMEOUT", "abc", "`abc` is not a duration"),
        ("POLL_INTERVAL", "-1", "`-1` is not a duration"),
        ("HISTORY", "-1", "`-1` is not a number of messages"),
        ("ASYNC", "perhaps", "`perhaps` is neither true nor false"),
        ("TRANSPORT", "rest,pigeon", "`pigeon` is not a transport"),
        ("FILE_BYTES", "hex", "`hex` is"),
        ("METADATA", "[]", "it must be a JSON object"),
        ("TRUST_ORIGIN", "*", "`*` is not an origin"),
        ("AGENT_CARD", "ftp://a.example", "`ftp://a.example` does not name an agent"),
        ("SVC_PARAM", "made-up", "it has no colon"),
        ("BEARER", "made\nup", "no header can have"),
    ] {
        let variable = format!("A2ACLI_{name}");
        let error = home.run_with(&SHOW, &[(&variable, value)], "").error("A2ACLI_ERR_USAGE", 2);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said) && message.contains(&variable), "{message}");
        assert!(error["hint"].as_str().unwrap().contains(&variable), "{error}");
    }
    home.write(".env", "A2ACLI_TENANT=t\nA2ACLI_TIMEOUT=abc\n");
    let error = home.run(&SHOW).error("A2ACLI_ERR_USAGE", 2);
    assert!(error["message"].as_str().unwrap().contains(".env, line 2: `abc` is not a duration"), "{error}");
    let error = home.run(&[&SHOW[..], &["--transport", "pigeon"]].concat()).error("A2ACLI_ERR_USAGE", 2);
    assert!(error["message"].as_str().unwrap().starts_with("--transport: `pigeon` is not a transport"), "{error}");
}

#[test]
fn the_settings_of_serve_are_shown_with_their_sources() {
    let home = Home::new();
    home.write("n.toml", "port = 9\nmax_body = '1M'\n\n[token]\nalice = 'alices-secret'\n");
    let show = |name: &str| {
        let environment = [("NUNCIO_SERVE_HOST", "::1")];
        setting(home.run_with(&[&SHOW[..], &["--config", "n.toml"]].concat(), &environment, ""), name)
    };
    assert_eq!(show("port"), ("9".into(), "n.toml, line 1".into()));
    assert_eq!(show("max-body"), ("1M".into(), "n.toml, line 2".into()));
    assert_eq!(show("token"), ("***".into(), "n.toml, line 4".into()));
    assert_eq!(show("host"), ("::1".into(), "environment variable NUNCIO_SERVE_HOST".into()));
    assert_eq!(show("store"), ("sqlite:./nuncio.db".into(), "built in".into()));
}

#[test]
fn a_setting_of_serve_that_serve_would_refuse_is_refused() {
    let home = Home::new();
    for (variable, value, said) in [
        ("NUNCIO_SERVE_PORT", "70000", "`70000` is not a port"),
        ("NUNCIO_SERVE_DRAIN", "soon", "soon"),
        ("NUNCIO_SERVE_MAX_BODY", "1.5M", "`1.5M` is not a size"),
        ("NUNCIO_SERVE_MAX_TURNS", "many", "`many` is not a whole number"),
        ("NUNCIO_SERVE_ANONYMOUS", "perhaps", "`perhaps` is neither true nor false"),
        ("NUNCIO_SERVE_STORE", "sqlite:", "is none of memory"),
        ("NUNCIO_SERVE_STORE", "postgres://h:port/d", "store"),
        ("NUNCIO_SERVE_SQLITE_SYNCHRONOUS", "often", "neither normal nor full"),
        ("NUNCIO_SERVE_BUS", "kafka://h", "bus"),
        ("NUNCIO_SERVE_BUS", "postgres", "the bus of a PostgreSQL store"),
        ("NUNCIO_SERVE_RETENTION", "foo=1d", "foo"),
        ("NUNCIO_SERVE_VERSIONS", "9.9", "9.9"),
        ("NUNCIO_SERVE_PUBLIC_URL", "ftp://x", "ftp"),
        ("NUNCIO_SERVE_TOKEN", "alice", "NAME=SECRET"),
        ("NUNCIO_SERVE_EXTENSION", "a b", "`a b` is no URI"),
        ("NUNCIO_SERVE_IDEMPOTENCY", "xx", "xx"),
        ("NUNCIO_SERVE_WITHOUT", "foo", "foo"),
        ("NUNCIO_SERVE_CORS_ORIGIN", "app.example", "`app.example` is no origin"),
    ] {
        let run = home.run_with(&[&SHOW[..], &["--serve"]].concat(), &[(variable, value)], "");
        let error = run.error("A2ACLI_ERR_USAGE", 2);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(said) && message.contains(variable), "{message}");
    }
}

#[test]
fn what_would_be_passed_over_is_said() {
    let home = Home::new();
    home.write("n.toml", "port = 1\n");
    let run = home.run(&["task", "list", "-a", "localhost:1", "--config", "n.toml", "-o", "json"]);
    let error = run.error("A2ACLI_ERR_USAGE", 2);
    assert!(error["message"].as_str().unwrap().contains("nuncio serve"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains(".yaml"), "{error}");

    home.write(".env", "DATABASE=x\nA2ACLI_BEARRER=file-secret\n");
    let run = home.run(&["config", "show"]).ok();
    assert!(
        run.err.contains(".env, line 2: A2ACLI_BEARRER is not a setting; did you mean `A2ACLI_BEARER`?"),
        "{run:?}"
    );
    home.write("mine.yaml", "agent-crad: localhost:1\n");
    let run = home.run(&["config", "show", "--config", "mine.yaml"]).ok();
    assert!(run.err.contains("mine.yaml, line 1: agent-crad is not a setting; did you mean `agent-card`?"), "{run:?}");
    assert!(!run.err.contains("DATABASE") && !format!("{run:?}").contains("file-secret"), "{run:?}");
    home.write("mine.env", "agent-card=localhost:1\n");
    let run = home.run(&["config", "show", "--config", "mine.env"]).ok();
    assert!(run.err.contains("mine.env, line 1: agent-card is not a setting"), "{run:?}");
}
