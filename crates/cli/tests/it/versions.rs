//! Which versions of the protocol are served, and which one a call is made in.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use nuncio_wire::Version;
use serde_json::{Value, json};

use crate::agent::{Agent, Home};

/// All versions that are built in, the newest first.
fn all() -> String {
    Version::ALL.iter().rev().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
}

/// The answer to a JSON-RPC call that says no version.
fn call(agent: &Agent, method: &str) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string();
    let mut stream = TcpStream::connect(&agent.address).unwrap();
    let (address, length) = (&agent.address, body.len());
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn the_banner_names_the_versions_that_are_served() {
    let home = Home::new();
    let wanted = format!("Versions: {}\n", all());
    let agent = home.serve(&[]);
    assert!(agent.banner.contains(&wanted), "{}", agent.banner);
    let agent = home.serve(&["--versions", "1.0, 1.0.1", "--versions", "1.0"]);
    assert!(agent.banner.contains("Versions: 1.0\n"), "{}", agent.banner);

    home.write("n.toml", "versions = ['1.0']\n");
    let agent = home.serve(&["--config", "n.toml"]);
    assert!(agent.banner.contains("Versions: 1.0\n"), "{}", agent.banner);
    let mut command = home.command(&["serve", "--port", "0", "--store", "memory", "-o", "text"]);
    command.env("NUNCIO_SERVE_VERSIONS", "1.0");
    let agent = Agent::start(command);
    assert!(agent.banner.contains("Versions: 1.0\n"), "{}", agent.banner);
}

#[test]
fn the_versions_that_hold_are_shown_with_their_source() {
    let home = Home::new();
    home.write("n.toml", "port = 1\nversions = ['1.0', '0.3']\n");
    let shown = |arguments: &[&str]| {
        let document = home.run(&[&["config", "show", "-o", "json"], arguments].concat()).ok().json();
        let settings = document["settings"].as_array().unwrap();
        let setting = settings.iter().find(|it| it["name"] == "versions").unwrap();
        (setting["value"].as_str().unwrap().to_owned(), setting["source"].as_str().unwrap().to_owned())
    };
    assert_eq!(shown(&["--serve"]), ("all that are built in".into(), "built in".into()));
    assert_eq!(shown(&["--config", "n.toml"]), ("1.0,0.3".into(), "n.toml, line 2".into()));
}

#[test]
fn a_version_that_is_not_known_is_refused_with_those_that_are() {
    let home = Home::new();
    for (wrong, what) in
        [("1.0,9.9", "`9.9` is not a version"), ("latest", "`latest` is not a version"), ("", "no version")]
    {
        let run = home.run(&["serve", "--port", "0", "--store", "memory", "-o", "json", "--versions", wrong]);
        let error = run.error("A2ACLI_ERR_USAGE", 2);
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("--versions: ") && message.contains(what), "{message}");
        assert!(message.ends_with(&format!("there are {}", all())), "{message}");
    }
}

#[test]
fn a_version_that_is_off_is_refused_and_what_says_none_is_by_a_switch() {
    let home = Home::new();
    let strict = home.serve(&["--versions", "1.0"]);
    for method in ["ListTasks", "message/send", "tasks/send"] {
        let answer = call(&strict, method);
        assert_eq!(answer["error"]["code"], -32009, "{method}: {answer}");
        assert_eq!(answer["error"]["data"][0]["metadata"]["supportedVersions"], "1.0", "{method}: {answer}");
    }
    let lenient = home.serve(&["--versions", "1.0", "--lenient-version"]);
    assert!(call(&lenient, "ListTasks")["result"]["tasks"].is_array());
    assert_eq!(call(&lenient, "message/send")["error"]["code"], -32009);
}

#[test]
fn a_pin_is_spoken_or_refused() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let send = |version: &str, more: &[&str]| {
        home.run(&[&["send", "-a", &agent.address, "--a2a-version", version, "input"], more].concat())
    };
    let asked = send("1.0", &[]).ok();
    assert!(asked.out.contains("--a2a-version 1.0"), "what is next is in the same version: {}", asked.out);
    let unknown = send("9.9", &["-o", "json"]);
    assert!(
        unknown.err.contains("warning: version 9.9 is not known here; calls have the form of version 1.0"),
        "{}",
        unknown.err
    );
    unknown.error("VersionNotSupportedError", 1);
}

#[test]
fn what_a_version_lacks_is_not_blamed_on_the_task() {
    let Some(older) = Version::ALL.iter().rev().nth(1) else { return };
    let home = Home::new();
    let agent = home.serve(&[]);
    let list = ["task", "list", "-a", &agent.address, "-o", "json", "--a2a-version", older.as_str()];
    let error = home.run(&list).error("UnsupportedOperationError", 1);
    assert!(error["hint"].as_str().unwrap().contains("--a2a-version"), "{error}");
}

#[test]
fn a_card_of_an_older_version_is_held_against_that_version() {
    if Version::ALL.len() == 1 {
        return;
    }
    let home = Home::new();
    home.write(
        "old.json",
        r#"{"name": "x", "url": "http://127.0.0.1:1/", "version": "1", "capabilities": {}, "skills": []}"#,
    );
    let run = home.run(&["card", "get", "old.json", "--validate"]).ok();
    assert_eq!(run.err, "the card is valid, as one of version 0.1\n");
    let agent = home.serve(&[]);
    let run = home.run(&["card", "get", &agent.address, "--validate"]).ok();
    assert_eq!(run.err, "the card is valid\n", "members of older versions are no strangers");
}

#[test]
fn debug_says_the_version_and_the_binding() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "-a", &agent.address, "--transport", "rest", "--debug", "hello"]).ok();
    let line = run.err.lines().find(|line| line.contains(" interface ")).unwrap_or_else(|| panic!("{}", run.err));
    assert!(line.contains(r#"binding="HTTP+JSON""#) && line.contains(r#"version="1.0""#), "{line}");
    assert!(!run.out.contains("version="), "{}", run.out);
}

#[test]
fn a_tenant_that_a_version_cannot_say_is_not_left_out_in_silence() {
    let home = Home::new();
    let agent = home.serve(&["--tenants", "acme"]);
    let of = |version: &str| {
        let sent =
            home.run(&["send", "-a", &agent.address, "--a2a-version", version, "--tenant", "acme", "hello"]).ok();
        sent.err.contains("has no tenants; --tenant is left out")
    };
    assert_eq!(["1.0", "0.3", "0.1"].map(of), [false, true, true]);
}

#[test]
fn a_path_is_a_tenant_if_the_card_names_it() {
    let home = Home::new();
    let agent = home.serve(&["--tenants", "acme,b c"]);
    assert!(agent.banner.contains("\nTenants: acme, b c\n"), "{}", agent.banner);
    let tenant = format!("Tenant: nuncio send -a {} --tenant acme \"hello\"\n", agent.address);
    assert!(agent.banner.contains(&tenant), "{}", agent.banner);
    // The server's own card names no tenant.
    let path = format!("{}/acme", agent.address);
    let error = home.run(&["send", "hello", "-a", &path, "-o", "json"]).error("A2ACLI_ERR_CARD_NOT_FOUND", 3);
    assert!(error["hint"].as_str().unwrap().contains("--tenant acme"), "{error}");
    let card = r#"{"name": "x", "description": "x", "version": "1", "capabilities": {},
        "supportedInterfaces": [{"url": "URL", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "b c"}],
        "defaultInputModes": [], "defaultOutputModes": [], "skills": []}"#;
    let card = card.replace("URL", &format!("http://{}", agent.address));
    let site = crate::site::Site::start(move |line| {
        let is_card = line.contains(" /.well-known/agent-card.json ");
        if is_card { (200, card.clone()) } else { (404, "{}".to_owned()) }
    });
    home.run(&["send", "hello", "-a", &format!("{}/b%20c", site.url)]).ok();
    let list = |tenant: &str| home.run(&["task", "list", "-a", &agent.address, "--tenant", tenant, "-o", "json"]).ok();
    assert_eq!(list("b c").json()["totalSize"], 1);
    assert_eq!(list("acme").json()["totalSize"], 0);
    for name in ["tasks", "a/b", "v1", "message:send", ".well-known", "extendedAgentCard", "acme,"] {
        let refused = home.run(&["serve", "--port", "0", "--store", "memory", "--tenants", name]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains("cannot be the name of a tenant: "), "{refused:?}");
    }
}
