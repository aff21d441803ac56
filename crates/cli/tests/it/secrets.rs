//! Credentials: the origins that get them, and hidden output.

use crate::{agent::Home, site::Site};

const SECRET: &str = "made-up-secret";

#[test]
fn debug_shows_every_message_and_no_secret() {
    let home = Home::new();
    let agent = home.serve(&["--token", &format!("alice={SECRET}")]);
    for transport in ["jsonrpc", "rest", "grpc"] {
        let arguments = [
            "send",
            "echo visible",
            "--debug",
            "-a",
            &agent.address,
            "--transport",
            transport,
            "--bearer",
            SECRET,
            "--svc-param",
            "x-other: another-secret",
        ];
        let run = home.run(&arguments).ok();
        assert!(!format!("{run:?}").contains("-secret"), "{transport}: {}", run.err);
        assert!(run.err.contains("a2a-version: 1.0") && run.err.contains("authorization: ***"), "{}", run.err);
        assert!(run.err.contains("echo visible"), "{}", run.err);
    }
    let list = ["task", "list", "--debug", "-a", &agent.address, "--bearer", SECRET];
    let id = home.run(&[&list[..], &["-o", "json"]].concat()).ok().json()["tasks"][0]["id"].clone();
    let create = [
        "task",
        "push-config",
        "create",
        id.as_str().unwrap(),
        "--url",
        "https://93.184.215.14/",
        "--token",
        "hook-secret",
        "--auth-scheme",
        "Bearer",
        "--auth-credentials",
        "more-secret",
        "--debug",
        "-a",
        &agent.address,
        "--bearer",
        SECRET,
    ];
    let run = home.run(&create);
    assert!(!format!("{run:?}").contains("-secret"), "{run:?}");
}

#[test]
fn an_error_that_repeats_a_secret_is_masked() {
    let home = Home::new();
    let site = Site::start(|_| (400, format!("{{\"error\":{{\"message\":\"bad token {SECRET}\"}}}}")));
    let base = ["task", "get", "x", "-e", &site.url, "--transport", "rest", "--bearer", SECRET];
    let run = home.run(&base);
    assert!(run.err.contains("bad token ***") && !format!("{run:?}").contains(SECRET), "{run:?}");
    let json = home.run(&[&base[..], &["-o", "json"]].concat());
    assert!(json.out.contains("bad token ***") && !format!("{json:?}").contains(SECRET), "{json:?}");
}

#[test]
fn a_card_that_points_elsewhere_gets_a_warning_and_no_secret() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let card = home.run(&["card", "get", &agent.address, "-o", "json"]).ok().out;
    let site = Site::start(move |_| (200, card.clone()));
    let run = home.run(&["send", "echo x", "-a", &site.url, "--bearer", SECRET, "--debug"]).ok();
    assert!(run.err.contains("warning: the card points to another origin"), "{}", run.err);
    assert!(!run.err.contains("authorization"), "{}", run.err);
    let trusting = ["send", "echo x", "-a", &site.url, "--bearer", SECRET, "--debug", "--trust-origin"];
    let run = home.run(&[&trusting[..], &[&format!("http://{}", agent.address)]].concat()).ok();
    assert!(run.err.contains("authorization: ***"), "{}", run.err);
    assert!(site.requests().iter().all(|request| !request.contains(SECRET)));
}

#[test]
fn insecure_is_never_silent() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let run = home.run(&["send", "echo x", "-a", &agent.address, "--insecure"]).ok();
    assert_eq!(run.err, "warning: certificates are not verified (--insecure)\n");
    let told = "warning: certificates are not verified (--insecure): the credentials may go to anybody who answers in the \
                agent's place\n";
    for credential in
        [["--bearer", SECRET], ["--api-key", SECRET], ["--auth", SECRET], ["--svc-param", "authorization: x"]]
    {
        let send = ["send", "echo x", "-a", &agent.address, "--insecure"];
        assert_eq!(home.run(&[&send[..], &credential].concat()).ok().err, told, "{credential:?}");
        let card = ["card", "get", &agent.address, "--validate", "--insecure"];
        let run = home.run(&[&card[..], &credential].concat()).ok();
        assert_eq!(run.err, format!("{told}the card is valid\n"), "{credential:?}");
    }
}

#[test]
fn credentials_without_tls_are_warned_of_beyond_this_machine() {
    let home = Home::new();
    // A name that begins like a loopback address and does not resolve.
    for (host, is_warned) in [("127.0.0.1.invalid:1", true), ("127.0.0.1:1", false), ("localhost:1", false)] {
        for (url, transport) in [(format!("http://{host}"), "jsonrpc"), (format!("grpc://{host}"), "grpc")] {
            let list = ["task", "list", "-e", &url, "--transport", transport, "--timeout", "5s"];
            let run = home.run(&[&list[..], &["--bearer", SECRET]].concat());
            assert_eq!(run.err.contains("credentials go over a connection without TLS"), is_warned, "{url}: {run:?}");
            assert!(!home.run(&list).err.contains("without TLS"), "{url}");
        }
    }
}

/// However an address is written, right or wrong.
#[test]
fn addresses_are_shown_and_refused_without_their_passwords() {
    let home = Home::new();
    for (flag, address) in [
        ("--store", "postgres://ann:pa?made-up-secret@127.0.0.1:1/d"),
        ("--store", "postgres://ann:made-up-secret?x@127.0.0.1:1/d?sslmode=require"),
        ("--store", "postgres://ann:x@made-up-secret@127.0.0.1:1/d"),
        ("--store", "postgres://127.0.0.1:1/d?password=made-up-secret"),
        ("--store", "postgres://ann:made-up-secret@127.0.0.1:1/d?schema=1"),
        ("--store", "postgres:ann:made-up-secret@127.0.0.1:1/d"),
        ("--store", "postgres://ann:made-up-secret"),
        ("--store", "host=127.0.0.1 user=ann password=made-up-secret"),
        ("--store", "sqlite://ann:made-up-secret@127.0.0.1/d"),
        ("--bus", "nats://ann:pa?made-up-secret@127.0.0.1:1"),
        ("--bus", "nats://made-up-secret?x@127.0.0.1:1"),
        ("--bus", "nats://ann:made-up-secret"),
    ] {
        let run = home.run(&["serve", flag, address, "--port", "0"]);
        assert_ne!(run.code, 0);
        assert!(!format!("{run:?}").contains(SECRET), "{address}: {run:?}");
        let variable = format!("NUNCIO_SERVE_{}", flag.trim_start_matches("--").to_uppercase());
        let run = home.run_with(&["config", "show", "--serve"], &[(&variable, address)], "");
        assert!(run.code != 0 || run.out.contains("***"), "{address}: {run:?}");
        assert!(!format!("{run:?}").contains(SECRET), "{address}: {run:?}");
        if flag == "--store" {
            let run = home.run(&["db", "backup", "b.db", flag, address]);
            assert!(!format!("{run:?}").contains(SECRET), "{address}: {run:?}");
        }
    }
}
