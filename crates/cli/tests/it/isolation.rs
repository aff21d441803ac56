//! What a program can read of its server.

use std::{os::unix::fs::MetadataExt as _, process::Stdio};

use crate::agent::{Agent, Home};

/// A program that prints the `/proc` files of its parent, the server.
const LOOK: &str = "for it in environ cmdline; do cat /proc/$PPID/$it | tr '\\0' '\\n'; done; env";

fn look(home: &Home, arguments: &[&str]) -> String {
    let all = ["serve", "--port", "0", "--store", "memory"];
    let mut command = home.command(&[&all[..], arguments, &["--exec", LOOK]].concat());
    command.env("NUNCIO_SERVE_TOKEN", "alice=made-up-secret-one").env("A2ACLI_BEARER", "made-up-secret-two");
    command.env("VISIBLE", "to programs");
    let agent = Agent::start(command);
    let send = ["send", "x", "-a", &agent.address, "--bearer", "made-up-secret-three", "-o", "json"];
    home.run(&send).ok().out
}

#[test]
fn a_program_finds_no_secret_in_environment_and_command_line_of_the_server() {
    let home = Home::new();
    let seen = look(&home, &["--token", "bob=made-up-secret-three", "--token=made-up=made-up-secret-four"]);
    assert!(!seen.contains("made-up-secret"), "{seen}");
    assert!(seen.contains("VISIBLE=to programs") && !seen.contains("NUNCIO_SERVE_TOKEN"), "{seen}");
}

/// The secrets come to the server through a pipe, which programs must not inherit. The descriptors that the test itself
/// inherited are there in both cases.
#[cfg(target_os = "linux")]
#[test]
fn a_program_inherits_the_same_descriptors_with_and_without_secrets() {
    let home = Home::new();
    let line = "for it in /proc/$$/fd/*; do [ -e $it ] && echo \"fd $(basename $it).\"; done; true";
    let seen = |secrets: &[&str]| -> Vec<String> {
        let agent = home.serve(&[secrets, &["--exec", line]].concat());
        let bearer = if secrets.is_empty() { &[][..] } else { &["--bearer", "made-up-secret-three"] };
        let out = home.run(&[&["send", "x", "-a", &agent.address, "-o", "json"], bearer].concat()).ok().out;
        out.split("fd ").skip(1).filter_map(|rest| Some(rest.split('.').next()?.to_owned())).collect()
    };
    let without = seen(&[]);
    assert!(["0", "1", "2"].iter().all(|it| without.iter().any(|seen| seen == it)), "{without:?}");
    assert_eq!(seen(&["--token", "bob=made-up-secret-three"]), without);
}

/// The message of a call may be a word that names the command of the server.
#[test]
fn a_call_keeps_its_credentials_whatever_its_words_are() {
    let home = Home::new();
    let agent = home.serve(&["--token", "bob=made-up-secret"]);
    for word in ["serve", "server"] {
        let mut command = home.command(&["send", "-a", &agent.address, word]);
        command.env("A2ACLI_BEARER", "made-up-secret");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{word}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_command_line_shows_all_but_the_secret() {
    let home = Home::new();
    let agent = home.serve(&["--token", "bob=made-up-secret", "--name", "A name"]);
    let line = std::fs::read_to_string(format!("/proc/{}/cmdline", agent.child.id())).unwrap();
    assert!(line.contains("--token\0bob=***\0--name\0A name\0"), "{line}");
    home.run(&["send", "x", "-a", &agent.address, "--bearer", "made-up-secret"]).ok();
    assert_eq!(home.run(&["send", "x", "-a", &agent.address, "--bearer", "***"]).code, 4);
}

/// `/proc` gives the files of a process that must not be inspected to root.
#[test]
fn a_server_with_a_program_cannot_be_inspected() {
    let home = Home::new();
    let agent = home.serve(&["--exec", "cat"]);
    assert_eq!(std::fs::metadata(format!("/proc/{}/environ", agent.child.id())).unwrap().uid(), 0);
}

#[test]
fn a_program_runs_as_the_user_that_is_named() {
    let home = Home::new();
    let line = "id -u; id -g; id -G; echo $HOME";
    let send = |agent: &Agent| home.run(&["send", "x", "-a", &agent.address, "-o", "json"]).ok().out;
    if rustix::process::geteuid().is_root() {
        let agent = home.serve(&["--run-as", "65534:65533", "--exec", line]);
        let out = send(&agent);
        let of = |id: &str| out.matches(&format!("\"{id}\\n\"")).count();
        assert_eq!((of("65534"), of("65533")), (1, 2), "{out}");
    } else {
        let run = home.run(&["serve", "--port", "0", "--run-as", "65534:65533", "--exec", line]);
        assert_eq!(run.code, 2);
        assert!(run.err.contains("only root") && run.err.contains("leave --run-as out"), "{}", run.err);
    }
}

#[test]
fn a_user_that_is_not_there_and_one_without_a_program_are_refused() {
    let home = Home::new();
    for (arguments, said) in
        [(&["--run-as", "nobody-of-this-name", "--exec", "cat"][..], "no user"), (&["--run-as", "0:0"], "of a program")]
    {
        let mut command = home.command(&[&["serve", "--port", "0", "--store", "memory"], arguments].concat());
        let run = command.stdin(Stdio::null()).output().unwrap();
        let error = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.code() == Some(2) && error.contains(said), "{error}");
    }
}
