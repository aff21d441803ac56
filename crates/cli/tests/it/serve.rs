//! `nuncio serve`: the banner, the stored tasks and the shutdown.

use std::{
    io::Read as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::agent::{Agent, Home, eventually};

#[test]
fn it_says_where_it_is_and_how_to_call_it() {
    let home = Home::new();
    let agent = home.serve(&["--store", "sqlite:./mine.db", "--name", "Ada ✓"]);
    for expected in
        ["Agent: Ada ✓", "Card: http://127.0.0.1:", "Bindings: JSONRPC, HTTP+JSON, GRPC", "Database: ./mine.db"]
    {
        assert!(agent.banner.contains(expected), "{expected} in {}", agent.banner);
    }
    let line = agent.banner.lines().find_map(|line| line.strip_prefix("Try: nuncio ")).unwrap();
    let words: Vec<_> = line.split(' ').map(|word| word.trim_matches('"')).collect();
    assert!(home.run(&words).ok().out.contains("echo: hello"));
}

#[test]
fn the_card_lists_the_bindings_that_the_settings_name() {
    let home = Home::new();
    let listed = |arguments: &[&str]| {
        let agent = home.serve(arguments);
        let card = home.run(&["card", "get", "-o", "json", "-a", &agent.address]).ok().json();
        let interfaces = card["supportedInterfaces"].as_array().unwrap().iter();
        let newest = interfaces.filter(|it| it["protocolVersion"] == "1.0");
        let named: Vec<_> = newest.map(|it| it["protocolBinding"].as_str().unwrap().to_owned()).collect();
        let url = card["supportedInterfaces"][named.len() - 1]["url"].as_str().unwrap().to_owned();
        (named.join(","), url, agent)
    };
    let (named, _, agent) = listed(&["--bindings", "jsonrpc,rest"]);
    assert_eq!(named, "JSONRPC,HTTP+JSON");
    assert!(agent.banner.contains("HTTP+JSON, GRPC at http://"), "{}", agent.banner);
    assert!(agent.banner.contains("; the card lists JSONRPC, HTTP+JSON\n"), "{}", agent.banner);
    let call = ["send", "echo x", "--transport", "grpc", "-e", &agent.address];
    assert!(home.run(&call).ok().out.contains("echo: x"), "gRPC is served although the card does not list it");
    let (named, url, _) = listed(&["--bindings", "rest", "--bindings", "GRPC", "--grpc-url", "http://127.0.0.1:1/"]);
    assert_eq!((&*named, &*url), ("HTTP+JSON,GRPC", "http://127.0.0.1:1"));

    let plain = ["serve", "--port", "0", "--store", "memory"];
    let agent = Agent::start(home.command(&plain));
    assert!(agent.banner.contains("; the card lists JSONRPC, HTTP+JSON\n"), "the default: {}", agent.banner);
    let agent = Agent::start(home.command(&[&plain[..], &["--grpc-url", "grpc.example:443"]].concat()));
    assert!(!agent.banner.contains("the card lists"), "--grpc-url lists gRPC: {}", agent.banner);
}

#[test]
fn tasks_survive_a_kill() {
    let home = Home::new();
    let start = || home.serve(&["--store", "sqlite:./tasks.db"]);
    let first = start();
    let send = |address: &str, arguments: &[&str]| {
        home.run(&[&["send", "-o", "json", "-a", address], arguments].concat()).ok().json()["task"].clone()
    };
    let done = send(&first.address, &["stream 100"]);
    let parked = send(&first.address, &["input"]);
    let running = send(&first.address, &["slow 60", "--async"]);

    assert!(first.banner.contains("Database: ./tasks.db\n"), "{}", first.banner);
    drop(first);

    let second = start();
    assert!(second.banner.contains("Database: ./tasks.db, holds 3 tasks from before\n"), "{}", second.banner);
    let get = |task: &Value| {
        home.run(&["task", "get", task["id"].as_str().unwrap(), "-o", "json", "-a", &second.address]).ok().json()
    };
    assert_eq!(get(&done), done);
    let answered = send(&second.address, &["more", "--task-id", parked["id"].as_str().unwrap()]);
    assert_eq!(answered["status"]["state"], "TASK_STATE_COMPLETED");
    let ended = eventually("the task that ran ends", || {
        Some(get(&running)).filter(|it| it["status"]["state"] != "TASK_STATE_WORKING")
    });
    assert_eq!(ended["status"]["state"], "TASK_STATE_FAILED");
}

/// A damaged task that a crash left at work is reported and does not block others.
#[test]
fn a_task_that_is_damaged_keeps_no_server_from_starting() {
    let home = Home::new();
    let start = || home.serve(&["--store", "sqlite:./tasks.db"]);
    let send = |address: &str, arguments: &[&str]| {
        home.run(&[&["send", "-o", "json", "-a", address], arguments].concat()).ok().json()["task"].clone()
    };
    let first = start();
    let kept = send(&first.address, &["hello"]);
    let damaged = send(&first.address, &["slow 60", "--async"])["id"].as_str().unwrap().to_owned();
    let other = send(&first.address, &["slow 60", "--async"])["id"].as_str().unwrap().to_owned();
    drop(first);
    let database = rusqlite::Connection::open(home.path().join("tasks.db")).unwrap();
    let torn = database.execute("UPDATE tasks SET body = '{\"status\":' WHERE id = ?1", [&damaged]);
    assert_eq!(torn.unwrap(), 1);
    drop(database);

    let second = start();
    let get = |id: &str| home.run(&["task", "get", id, "-o", "json", "-a", &second.address]);
    assert_eq!(get(kept["id"].as_str().unwrap()).ok().json(), kept);
    let refused = get(&damaged);
    assert_eq!((refused.code, refused.out.contains("internal")), (1, true), "{refused:?}");
    let ended = eventually("the other task ends", || {
        Some(get(&other).ok().json()).filter(|it| it["status"]["state"] != "TASK_STATE_WORKING")
    });
    assert_eq!(ended["status"]["state"], "TASK_STATE_FAILED");
    send(&second.address, &["hello"]);
}

#[test]
fn a_program_is_an_agent() {
    let home = Home::new();
    let agent = home.serve(&["--exec", "--", "tr", "a-z", "A-Z"]);
    let task = home.run(&["send", "hello", "-o", "json", "-a", &agent.address]).ok().json()["task"].clone();
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "HELLO\n");
    assert_eq!(home.run(&["card", "get", &agent.address, "-o", "json"]).ok().json()["name"], "tr");

    let agent = home.serve(&["--jsonl", "read -r line; echo '{\"text\":\"hi\"}'"]);
    let task = home.run(&["send", "hello", "-o", "json", "-a", &agent.address]).ok().json()["task"].clone();
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hi");

    let agent = home.serve(&["--chunk", "--", "--exec", "--", "printf", "a--b"]);
    let task = home.run(&["send", "x", "-o", "json", "-a", &agent.address]).ok().json()["task"].clone();
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "a"}, {"text": "b"}]));
}

#[test]
fn no_program_outlives_a_server_that_is_killed() {
    let home = Home::new();
    // The program and its child ignore SIGTERM.
    let script =
        "trap '' HUP INT TERM; sleep 300 & echo $$ $! >pids.new; mv pids.new pids; while :; do sleep 300; done";
    for way in ["--exec", "--jsonl"] {
        let mut agent = home.serve(&[way, script]);
        home.run(&["send", "x", "--async", "-a", &agent.address]).ok();
        let pids = eventually("the program runs", || std::fs::read_to_string(home.path().join("pids")).ok());
        std::fs::remove_file(home.path().join("pids")).unwrap();
        let pids: Vec<_> = pids.split_whitespace().map(str::to_owned).collect();
        assert_eq!((pids.len(), pids.iter().all(|pid| is_alive(pid))), (2, true), "{way}");
        agent.signal("KILL");
        agent.wait();
        eventually("its processes are gone", || (!pids.iter().any(|pid| is_alive(pid))).then_some(()));
    }
}

/// Whether a process runs; a zombie does not run.
fn is_alive(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap().stdout;
    !state.is_empty() && !state.starts_with(b"Z")
}

#[test]
fn a_file_may_say_it_all() {
    let home = Home::new();
    home.write(
        "n.toml",
        "port = 0\nstore = 'memory'\nname = 'From a file'\nexec = ['tr', 'a', 'b']\nwithout = ['push']\n\n[token]\nalice = 'alices-secret'\n",
    );
    let agent = Agent::start(home.command(&["serve", "--config", "n.toml", "--description", "by a flag"]));
    let card = home.run(&["card", "get", &agent.address, "-o", "json"]).ok().json();
    assert_eq!((&card["name"], &card["description"]), (&json!("From a file"), &json!("by a flag")));
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    assert!(card["securitySchemes"].is_object());
    let send = ["send", "aha", "-a", &agent.address, "--bearer", "alices-secret"];
    assert!(home.run(&send).ok().out.contains("bhb"));
}

#[test]
fn the_extended_card_is_the_public_one_as_it_was_made_and_more() {
    let home = Home::new();
    let card = json!({"name": "Mine", "description": "My own.", "version": "7", "skills": [{"id": "s", "name": "S",
        "description": "Does.", "tags": ["t"]}], "capabilities": {"streaming": true}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"]});
    home.write("mine.json", &card.to_string());
    let own = ["--name", "Zed", "--description", "D"];
    for (arguments, name, description, more) in [
        (&own[..], "Zed", "D", true),
        (&["--card", "mine.json"], "Mine", "My own.", true),
        (&["--card", "mine.json", "--exec", "--", "cat"], "Mine", "My own.", false),
        (&["--exec", "--", "cat"], "cat", "Hands each message to the program cat.", false),
        (&["--name", "Zed", "--description", "D", "--versions", "0.3"], "Zed", "D", true),
    ] {
        let agent = home.serve(&[&["--token", "ada=adas-own"], arguments].concat());
        let get = |more: &[&str]| {
            let get = ["card", "get", "-a", &agent.address, "--bearer", "adas-own", "-o", "json"];
            home.run(&[&get, more].concat()).ok().json()
        };
        let (public, extended) = (get(&[]), get(&["--extended"]));
        assert_eq!((&extended["name"], &extended["description"]), (&json!(name), &json!(description)), "{arguments:?}");
        let skills =
            |card: &Value| card["skills"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
        let mut expected = skills(&public);
        expected.extend(more.then(|| json!("whoami")));
        assert_eq!(skills(&extended), expected, "{arguments:?}");
    }
    let agent = home.serve(&["--token", "ada=adas-own", "--without", "extended-card", "--exec", "--", "cat"]);
    home.run(&["card", "get", "--extended", "-a", &agent.address, "--bearer", "adas-own", "-o", "json"])
        .error("UnsupportedOperationError", 1);
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let home = Home::new();
    let agent = home.serve(&["--store", "sqlite:./held.db"]);
    let port = agent.address.rsplit(':').next().unwrap();
    home.write("slip.toml", "prot = 1\n");
    home.write("twins.toml", "token = ['a=s3cr3t', 'b=s3cr3t']\n");
    home.write("card.json", "{}");
    home.write("cut.toml", "[token]\n'a b=c' = 'x'\n");
    home.write("empty.toml", "description = ''\n");
    home.write("open.toml", "port = \n");
    home.write("broken.json", "{\n  \"name\":");
    for (arguments, said, hint) in [
        (&["--port", port, "--store", "memory"][..], "cannot listen on 127.0.0.1:", "another --port"),
        (
            &["--port", "0", "--store", "sqlite:./held.db"],
            "is in use by another process",
            "of its own: --store sqlite:PATH",
        ),
        (&["--port", "0", "--store", "sqlite:./none/held.db"], "cannot be opened: No such file", "--store"),
        (&["--exec", "--", "no-such-program"], "there is no program `no-such-program`", "PATH"),
        (
            &["--host", "0.0.0.0", "--port", "0", "--store", "memory"],
            "refusing to listen on 0.0.0.0:",
            "NUNCIO_SERVE_TOKEN=NAME=SECRET",
        ),
        (&["--config", "slip.toml"], "`prot` is not a setting", "did you mean `port`?"),
        (&["--config", "none.toml"], "cannot read none.toml", ""),
        (&["--config", "cut.toml"], "token has the name `a b=c`, and names of callers have no `=`", "--help"),
        (&["--config", "open.toml"], "open.toml, line 1: ", "the file is TOML: `port = 8080`"),
        (&["--config", "empty.toml"], "description from empty.toml", "leave --description out"),
        (&["--name="], "--name: it is empty, and a card without a name is not valid", "leave --name out"),
        (&["--name", " "], "--name: it is empty", "leave --name out"),
        (&["--require-extension="], "an extension without a URI cannot be named", "one --require-extension for each"),
        (&["--extension", "urn:a,,urn:b"], "an extension without a URI cannot be named", "one --extension for each"),
        (&["--extension", "urn:a b"], "`urn:a b` is no URI", "https://example.com/ext"),
        (&["--bogus"], "unexpected argument '--bogus'", "hint: `nuncio serve --help` lists the flags"),
        (&["--token", "alice"], "--token: a token must have the form NAME=SECRET", ""),
        (&["--token", "a=s3cr3t", "--token", "b=s3cr3t"], "--token: `a` and `b` have the same token", ""),
        (&["--config", "twins.toml"], "`a` and `b` have the same token", ""),
        (
            &["--public-url", "https://me:pw@x/"],
            "--public-url: `https://me:***@x/` cannot be the public URL: a user or a",
            "",
        ),
        (&["--bindings", "soap"], "--bindings: `soap` is not a binding; there are jsonrpc, rest and grpc", ""),
        (&["--bindings", ","], "--bindings: it names no binding", ""),
        (&["--bindings", "rest", "--grpc-url", "a:1"], "--bindings does not list gRPC", "leave --grpc-url out"),
        (&["--grpc-url", "me:pw@a:1"], "--grpc-url: `me:***@a:1` cannot be the address of gRPC: a user", ""),
        (&["--versions", "0.1", "--bindings", "rest", "--store", "memory"], "would list no interface", "list JSON-RPC"),
        (&["--public-url", "http://0.0.0.0."], "no client can reach the host", ""),
        (&["--anonymous"], "--anonymous lets callers in", "--token"),
        (&["--max-body", "big"], "--max-body: `big` is not a size", ""),
        (&["--card", "card.json"], "--card card.json: name is missing; description is missing", "card get --validate"),
        (
            &["--card", "broken.json"],
            "--card broken.json: it is not JSON: EOF while parsing a value at line 2 column 9",
            "--validate",
        ),
        (&["--resume"], "--resume: it is for programs", "leave --resume out"),
        (&["--chunk", ","], "--chunk: it cuts the output of --exec", "leave --chunk out"),
        (&["--chunk", ",", "--jsonl", "--", "cat"], "--chunk: it cuts the output of --exec", "leave --chunk out"),
        (&["--lease", "5", "--store", "memory"], "--lease: the store belongs to this process", "leave --lease out"),
        (
            &["--exec", "wc", "-w"],
            "unexpected argument '-w'",
            "put the program behind --: nuncio serve --exec -- wc -w",
        ),
        (&["--jsonl", "python3", "a.py"], "unexpected argument 'a.py'", "nuncio serve --jsonl -- python3 a.py"),
        (&["--host", "no-such-host.invalid", "--store", "memory"], "`no-such-host.invalid` cannot be", "--host"),
        (&["--program-grace", "2s", "--exec", "--", "cat"], "two thirds of --cancel-grace", "raise --cancel-grace"),
        (&["--exec", "--jsonl", "--", "cat"], "--exec and --jsonl cannot both be", ""),
        (&["--", "cat"], "a program is given, but not how to run it", "--exec"),
        (&["--without", "everything"], "`everything` is none of", ""),
        (&["--public-url", "agent.example"], "cannot be the public URL", ""),
    ] {
        let run = home.run(&[&["serve"], arguments].concat());
        assert!(run.code == 1 || run.code == 2, "{run:?}");
        assert!(run.err.contains(said) && run.err.contains(hint), "{arguments:?}: {}", run.err);
        assert_eq!(run.out, "");
    }
}

#[test]
fn a_port_that_is_taken_leaves_nothing_behind() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = home.run(&["serve", "--port", &port]);
    assert!(run.code == 1 && run.err.contains("cannot listen on 127.0.0.1:"), "{run:?}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn extensions_of_the_environment_are_told_from_where_they_are() {
    let home = Home::new();
    let run = home.run_with(&["serve", "--port", "0"], &[("NUNCIO_SERVE_REQUIRE_EXTENSION", "urn:a b")], "");
    assert!(run.code == 2 && run.err.contains("NUNCIO_SERVE_REQUIRE_EXTENSION: `urn:a b` is no URI"), "{run:?}");
}

#[test]
fn programs_that_start_it_get_json() {
    let home = Home::new();
    let agent = home.serve(&[]);
    let port = agent.address.rsplit(':').next().unwrap();
    let run = home.run(&["serve", "--port", port, "--store", "memory", "-o", "json"]);
    run.error("A2ACLI_ERR_INTERNAL", 1);
}

#[test]
fn the_first_signal_drains_and_the_second_ends() {
    let home = Home::new();
    let mut agent = home.serve(&["--drain", "30s"]);
    home.run(&["send", "stubborn 60", "--async", "-a", &agent.address]).ok();
    agent.signal("TERM");
    let mut said = String::new();
    let mut stderr = agent.child.stderr.take().unwrap();
    let mut buffer = [0; 1024];
    while !said.contains("once more to stop at once") {
        let count = stderr.read(&mut buffer).unwrap();
        assert!(count > 0, "{said}");
        said.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    assert!(agent.child.try_wait().unwrap().is_none());
    agent.signal("TERM");
    assert_eq!(agent.wait(), 143);
}

#[test]
fn an_orderly_stop_is_a_success_and_takes_its_programs_along() {
    let home = Home::new();
    let mut agent = home.serve(&["--drain", "200ms", "--exec", "--", "sh", "-c", "echo $$ > pid; exec sleep 60"]);
    home.run(&["send", "x", "--async", "-a", &agent.address]).ok();
    let pid = eventually("the program runs", || {
        std::fs::read_to_string(home.path().join("pid")).ok().filter(|pid| pid.ends_with('\n'))
    });
    agent.signal("INT");
    assert_eq!(agent.wait(), 0);
    eventually("the program is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
}

#[test]
fn a_program_does_not_see_the_secrets_of_the_server() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--port", "0", "--store", "memory", "--exec", "--", "env"]);
    command.env("NUNCIO_SERVE_TOKEN", "alice=alices-secret").stdout(Stdio::piped());
    let agent = Agent::start(command);
    let run = home.run(&["send", "x", "-a", &agent.address, "--bearer", "alices-secret"]).ok();
    assert!(run.out.contains("NUNCIO_TASK_ID=") && !run.out.contains("alices-secret"), "{}", run.out);
}

#[test]
fn stores_and_capabilities_are_chosen_by_flags() {
    let home = Home::new();
    let agent = home.serve(&["--extension", "urn:a", "--require-extension", "urn:b", "--without", "streaming,push"]);
    let card = home.run(&["card", "get", &agent.address, "-o", "json"]).ok().json();
    assert_eq!(card["capabilities"]["streaming"], false);
    assert_eq!(card["capabilities"]["extensions"][1], json!({"uri": "urn:b", "required": true}));
    let run = home.run(&["send", "echo x", "-o", "json", "-a", &agent.address]);
    run.error("ExtensionSupportRequiredError", 1);
    home.run(&["send", "echo x", "-a", &agent.address, "--extension", "urn:b"]).ok();
}

#[test]
fn what_to_try_has_a_place_for_a_token_and_no_token() {
    let home = Home::new();
    let agent = home.serve(&["--token", "alice=alices-own"]);
    let wanted = format!("Try: nuncio send -a {} --bearer SECRET \"hello\"\n", agent.address);
    assert!(agent.banner.ends_with(&wanted) && !agent.banner.contains("alices-own"), "{}", agent.banner);
    let agent = home.serve(&["--token", "alice=alices-own", "--anonymous"]);
    assert!(!agent.banner.contains("--bearer"), "{}", agent.banner);
}

#[test]
fn turns_of_a_program_wait_for_a_place() {
    let home = Home::new();
    let script = "mkdir running && sleep 0.2 && rmdir running && echo alone";
    let agent = home.serve(&["--max-processes", "1", "--cancel-grace", "1s", "--exec", "--", "sh", "-c", script]);
    let send = || home.run(&["send", "x", "-a", &agent.address]).ok().out;
    std::thread::scope(|scope| {
        let turns: Vec<_> = (0..3).map(|_| scope.spawn(send)).collect();
        for turn in turns {
            let said = turn.join().unwrap();
            assert!(said.contains("alone"), "{said}");
        }
    });
}
