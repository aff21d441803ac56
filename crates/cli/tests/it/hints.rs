//! Hints: another command than the failed one, the reason of a failure, and its remedy.

use std::{io::Write as _, net::TcpListener, os::unix::fs::PermissionsExt as _, thread};

use crate::{agent::Home, site::Site};

#[test]
fn the_command_that_failed_is_not_suggested() {
    let home = Home::new();
    home.write("card.json", r#"{"name": "x", "skills": ["a"]}"#);
    for (command, own) in [
        (&["card", "get", "card.json", "--validate"][..], "card get"),
        (&["card", "get", "-a", "card.json", "--extended"], "card get`"),
    ] {
        let run = home.run(command);
        assert_ne!(run.code, 0, "{run:?}");
        assert!(!run.err.contains(&format!("`nuncio {own}")), "{run:?}");
    }
    let run = home.run(&["send", "x", "-a", "card.json"]);
    assert!(run.err.contains("`nuncio card get --validate` shows what is wrong"), "{run:?}");
}

#[test]
fn a_port_that_speaks_tls_is_told() {
    // As TLS servers do with what is no greeting: an alert, and for a greeting a handshake.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(&[0x15, 3, 3, 0, 2, 2, 70]);
        }
    });
    let url = format!("http://{address}");
    for target in [&["-a", &*url][..], &["-e", &url, "--transport", "jsonrpc"], &["-e", &url, "--transport", "rest"]] {
        let run = home_run(&[&["send", "x"], target].concat());
        let told = format!("hint: the port speaks TLS, and was called without: say https://{address}\n");
        assert!(run.1.ends_with(&told) && run.0 != 0, "{run:?}");
    }
}

fn home_run(arguments: &[&str]) -> (i32, String) {
    let run = Home::new().run(arguments);
    (run.code, run.err)
}

#[test]
fn nothing_at_a_path_names_the_path_and_the_remedy() {
    let site = Site::start(|_| (404, "not found".to_owned()));
    let (code, err) = home_run(&["send", "x", "-e", &format!("{}/nope", site.url), "--transport", "jsonrpc"]);
    assert_eq!(code, 1);
    let told = format!("nothing answers at {}/nope", site.url);
    let hint = format!("hint: check the path of -e; `nuncio card get {}` shows", site.url);
    assert!(err.contains(&told) && err.contains(&hint), "{err}");
    // An agent answers for a path without an operation by an error of HTTP+JSON, over each binding.
    let home = Home::new();
    let agent = home.serve(&[]);
    for transport in ["jsonrpc", "rest"] {
        let endpoint = format!("http://{}/nope", agent.address);
        let (code, err) = home_run(&["send", "x", "-e", &endpoint, "--transport", transport]);
        assert!(code == 1 && err.contains(&format!("nothing answers at {endpoint}")), "{transport}: {err}");
        assert!(err.contains("hint: check the path of -e"), "{transport}: {err}");
    }
}

#[test]
fn a_script_that_cannot_run_is_refused_with_the_reason() {
    let home = Home::new();
    let path = home.write("crlf.sh", "#!/bin/sh\r\necho hi\r\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = home.run(&["serve", "--port", "0", "--store", "memory", "--exec", "--", "./crlf.sh"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.err.contains(r"names the interpreter `/bin/sh\r`") && run.err.contains("line ends of Windows"),
        "{run:?}"
    );
    assert!(run.err.contains(r"hint: write the file with line ends of Unix: sed -i 's/\r$//' FILE"), "{run:?}");
}

#[test]
fn a_card_that_cannot_be_served_is_named_by_its_file() {
    let home = Home::new();
    for bad in ["[]", "{", r#"{"name": "x", "capabilities": ["streaming"]}"#, r#"{"url": "http://a", "name": 5}"#] {
        home.write("bad.json", bad);
        let run = home.run(&["serve", "--port", "0", "--store", "memory", "--card", "bad.json"]);
        assert!(run.code == 2 && run.err.contains("--card bad.json: "), "{run:?}");
        assert!(!run.err.contains("the agent's answer"), "{run:?}");
    }
}

#[test]
fn a_weak_secret_is_warned_of() {
    let home = Home::new();
    for (secret, told) in [
        ("t1ny", "the secret of `a` is shorter than 16 characters"),
        ("$SECRET_OF_THE_AGENT", "the secret of `a` contains `$`"),
        ("long-enough-and-made-up", ""),
    ] {
        let variable = [("NUNCIO_SERVE_TOKEN", &*format!("a={secret}"))];
        let run = home.run_with(&["config", "show", "--serve"], &variable, "").ok();
        assert_eq!(run.err.contains("the secret of"), !told.is_empty(), "{run:?}");
        assert!(run.err.contains(told) && !run.err.contains(&format!("={secret}")), "{run:?}");
    }
}

#[test]
fn only_what_was_changed_is_shown() {
    let home = Home::new();
    let set = [("NUNCIO_SERVE_PORT", "9000"), ("NUNCIO_SERVE_HOST", "127.0.0.1")];
    let run = home.run_with(&["config", "show", "--serve", "--changed"], &set, "").ok();
    assert_eq!(run.out, "port: 9000 (environment variable NUNCIO_SERVE_PORT)\n");
}

#[test]
fn help_of_serve_is_short_and_complete() {
    let home = Home::new();
    let (short, long) = (home.run(&["serve", "-h"]).ok().out, home.run(&["serve", "--help"]).ok().out);
    assert!(short.contains("--exec") && short.contains("--token") && !short.contains("--max-turns"), "{short}");
    assert!(short.lines().count() < 60 && long.contains("--max-turns"), "{short}");
    let first = long.find("Most used:").unwrap();
    assert!(long.find("Limits:").is_some_and(|limits| first < limits), "{long}");
}

#[test]
fn an_endpoint_without_a_scheme_is_written_with_one_and_keeps_its_transport() {
    for (endpoint, transport, said) in [
        ("localhost:8297", "rest", "-e http://localhost:8297 --transport rest"),
        ("127.0.0.1:8297/rpc", "jsonrpc", "-e http://127.0.0.1:8297/rpc --transport jsonrpc"),
        ("/rpc", "rest", "-e http://localhost:8080 --transport rest"),
        ("ftp://a", "grpc", "-e http://localhost:8080 --transport grpc"),
    ] {
        let run = home_run(&["send", "x", "-e", endpoint, "--transport", transport]);
        assert!(run.0 == 2 && run.1.contains(&format!("give an absolute URL: {said}\n")), "{run:?}");
    }
}
