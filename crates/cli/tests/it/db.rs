//! `nuncio db`: findings, copies, deletion, and use beside a server.

#[cfg(feature = "postgres")]
mod postgres;

use std::{
    io::Read as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;

use crate::agent::{Agent, Home, eventually};

const STORE: &[&str] = &["--store", "sqlite:./tasks.db"];

fn database(home: &Home) -> PathBuf {
    home.path().join("tasks.db")
}

fn send(home: &Home, agent: &Agent, arguments: &[&str]) -> Value {
    home.run(&[&["send", "-o", "json", "-a", &agent.address], arguments].concat()).ok().json()["task"].clone()
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

/// A database with a completed task, a waiting task, and a task of each of two callers.
fn filled(home: &Home) -> (Value, Value) {
    let agent = home.serve(STORE);
    let done = send(home, &agent, &["hello"]);
    let parked = send(home, &agent, &["input"]);
    drop(agent);
    let agent = home.serve(&[STORE, &["--token", "ada=one", "--token", "bob=two"]].concat());
    for (secret, text) in [("one", "of ada"), ("two", "of bob")] {
        send(home, &agent, &[text, "--bearer", secret]);
    }
    (done, parked)
}

fn export(home: &Home, arguments: &[&str]) -> Vec<Value> {
    home.run(&[&["db", "export"], STORE, arguments].concat()).ok().lines()
}

#[test]
fn a_backup_is_made_under_load_and_served() {
    let home = Home::new();
    let agent = home.serve(STORE);
    let before: Vec<_> = (0..20).map(|_| send(&home, &agent, &["stream 20"])).collect();
    let stop = Arc::new(AtomicBool::new(false));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    send(&home, &agent, &["stream 50"]);
                }
            });
        }
        let backup = home.run(&[&["db", "backup", "backup.db"], STORE].concat()).ok();
        assert!(backup.out.contains("Backup: backup.db, "), "{backup:?}");
        stop.store(true, Ordering::Relaxed);
    });
    let again = home.run(&[&["db", "backup", "backup.db", "-o", "json"], STORE].concat());
    again.error("A2ACLI_ERR_USAGE", 2);
    let names: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".partial")), "{names:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(home.path().join("backup.db")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "it is its owner's alone");
    }
    let restored = home.serve(&["--store", "sqlite:./backup.db"]);
    for task in &before {
        let found = home.run(&["task", "get", id(task), "-o", "json", "-a", &restored.address]).ok().json();
        assert_eq!(found, *task);
    }
    drop(restored);
    let checked = home.run(&["db", "check", "--store", "sqlite:./backup.db", "-o", "json"]);
    // In a backup a running turn stays at work until a server settles the task, which happened here.
    assert_eq!(checked.ok().json()["findings"], Value::Array(Vec::new()));
}

#[test]
fn what_reads_goes_beside_a_server_and_what_writes_does_not() {
    let home = Home::new();
    let agent = home.serve(STORE);
    send(&home, &agent, &["hello"]);
    send(&home, &agent, &["slow 60", "--async"]);
    for command in [&["check"][..], &["export"], &["backup", "b.db"], &["migrate"], &["migrate", "--dry-run"]] {
        home.run(&[&["db"], command, STORE].concat()).ok();
    }
    for command in [&["gc", "--retention", "0s"][..], &["gc", "--vacuum"], &["delete", "--tenant", "", "--yes"]] {
        let refused = home.run(&[&["db"], command, STORE, &["-o", "json"]].concat());
        let error = refused.error("A2ACLI_ERR_INTERNAL", 1);
        assert!(error["message"].as_str().unwrap().contains("in use by another process"), "{error}");
    }
    assert_eq!(export(&home, &[]).len(), 2, "nothing is gone");
    drop(agent);
    let checked = home.run(&[&["db", "check", "-o", "json"], STORE].concat());
    assert_eq!(checked.code, 1, "{checked:?}");
    let findings = checked.json()["findings"].clone();
    assert!(findings[0].as_str().unwrap().contains("is at work, and no process is"), "{findings}");
}

/// Each damage is a finding with a remedy; a file that cannot be opened is an error with the same remedy.
#[test]
fn a_page_that_is_broken_is_found_and_it_is_said_what_to_do() {
    const PAGE: usize = 4096;
    let home = Home::new();
    filled(&home);
    home.run(&[&["db", "backup", "whole.db"], STORE].concat()).ok();
    let whole = std::fs::read(home.path().join("whole.db")).unwrap();
    let (mut found, pages) = (0, whole.len() / PAGE);
    for page in 1..pages {
        let mut bytes = whole.clone();
        bytes[page * PAGE..page * PAGE + 8].fill(0xff);
        std::fs::write(home.path().join("broken.db"), bytes).unwrap();
        let checked = home.run(&["db", "check", "--store", "sqlite:./broken.db"]);
        assert_eq!(checked.code, 1, "page {page}: {checked:?}");
        if checked.err.is_empty() {
            assert!(
                checked.out.contains("Findings:\n") && checked.out.contains("\nHint: stop the server"),
                "{checked:?}"
            );
            let json = home.run(&["db", "check", "--store", "sqlite:./broken.db", "-o", "json"]).json();
            assert!(json["hint"].as_str().unwrap().contains("nuncio db backup"), "{json}");
            found += 1;
        } else {
            assert!(
                checked.err.contains("hint: ") && checked.err.contains("nuncio db backup"),
                "page {page}: {checked:?}"
            );
        }
    }
    assert!(found > pages / 2, "{found} of {pages}");
}

#[test]
fn an_export_has_whole_tasks_and_no_secrets() {
    let home = Home::new();
    let (done, parked) = filled(&home);
    let all = export(&home, &[]);
    assert_eq!(all.len(), 4);
    let of = |task: &Value| all.iter().find(|line| line["task"]["id"] == task["id"]).unwrap().clone();
    assert_eq!((&of(&done)["task"], &of(&parked)["task"]), (&done, &parked));
    assert!(of(&done)["sequence"].as_u64().unwrap() > 0);
    assert_eq!(of(&done)["scope"], serde_json::json!({"tenant": "", "caller": null}));
    let ids = |arguments: &[&str]| {
        let lines = export(&home, arguments);
        lines.iter().map(|line| line["task"]["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--state", "input-required"]), [id(&parked)]);
    assert_eq!(ids(&["--context", done["contextId"].as_str().unwrap()]), [id(&done)]);
    assert_eq!(export(&home, &["--caller", "ada"])[0]["scope"]["caller"], "ada");
    assert!(ids(&["--tenant", "acme"]).is_empty() && ids(&["--since", "2999-01-01T00:00:00Z"]).is_empty());

    home.run(&[&["db", "export", "--to", "all.jsonl"], STORE].concat()).ok();
    assert_eq!(std::fs::read_to_string(home.path().join("all.jsonl")).unwrap().lines().count(), 4);
    let again = home.run(&[&["db", "export", "--to", "all.jsonl", "-o", "json"], STORE].concat());
    again.error("A2ACLI_ERR_USAGE", 2);

    let agent = home.serve(&[STORE, &["--allow-private-webhooks"]].concat());
    let url = "http://127.0.0.1:9/hook";
    let webhook =
        ["task", "push-config", "create", id(&parked), "--url", url, "--token", "t0ken", "-a", &agent.address];
    home.run(&webhook).ok();
    drop(agent);
    let hook = |arguments: &[&str]| {
        export(&home, &[&["--state", "input-required"], arguments].concat())[0]["pushConfigs"].clone()
    };
    assert_eq!((&hook(&[])[0]["config"]["url"], hook(&[])[0]["config"].get("token")), (&url.into(), None));
    assert_eq!(hook(&["--with-secrets"])[0]["config"]["token"], "t0ken");
}

#[test]
fn deleting_needs_a_yes_and_leaves_nothing() {
    let home = Home::new();
    let agent = home.serve(&[STORE, &["--token", "ada=one", "--token", "bob=two"]].concat());
    let text = |agent: &Agent, secret: &str, text: &str| send(&home, agent, &[text, "--bearer", secret]);
    text(&agent, "one", "the secret of Zyzzogeton");
    let kept = text(&agent, "one", "something else");
    text(&agent, "two", "bob knows Zyzzogeton");
    drop(agent);
    let first = export(&home, &[])[0]["task"]["contextId"].as_str().unwrap().to_owned();
    let delete = |arguments: &[&str]| home.run(&[&["db", "delete", "-o", "json"], STORE, arguments].concat());
    delete(&[]).error("A2ACLI_ERR_USAGE", 2);
    let asked = delete(&["--context", &first]).ok().json();
    assert_eq!((&asked["tasks"], &asked["deleted"]), (&1.into(), &false.into()));
    let asked = home.run(&[&["db", "delete", "--context", &first], STORE].concat()).ok();
    assert_eq!(asked.out, "Would-Delete: 1 task, for good; --yes does it\n");
    assert_eq!(export(&home, &[]).len(), 3);
    assert_eq!(delete(&["--context", &first, "--yes"]).ok().json()["tasks"], 1);
    assert_eq!(delete(&["--caller", "bob", "--yes"]).ok().json()["tasks"], 1);
    let left = export(&home, &[]);
    assert_eq!((left.len(), &left[0]["task"]), (1, &kept));
    for file in std::fs::read_dir(home.path()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = |word: &str| bytes.windows(word.len()).any(|it| it == word.as_bytes());
            assert!(!found("Zyzzogeton") && !found("bob"), "{}", path.display());
        }
    }
    assert_eq!(delete(&["--task", id(&kept), "--yes"]).ok().json()["tasks"], 1);
    assert!(export(&home, &[]).is_empty());
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_hides_no_other() {
    let home = Home::new();
    let (done, parked) = filled(&home);
    let check = || home.run(&[&["db", "check", "-o", "json"], STORE].concat());
    assert_eq!(check().ok().json()["findings"], Value::Array(Vec::new()));
    let connection = rusqlite::Connection::open(database(&home)).unwrap();
    let spoilt = connection.execute("UPDATE tasks SET body = 'no JSON' WHERE id = ?1", [id(&done)]).unwrap();
    connection.execute("UPDATE totals SET tasks = tasks + 1 WHERE state = 6", []).unwrap();
    connection.close().unwrap();
    assert_eq!(spoilt, 1);
    let checked = check();
    assert_eq!(checked.code, 1);
    let findings = checked.json()["findings"].to_string();
    assert!(findings.contains(&format!("task {} cannot be read", id(&done))), "{findings}");
    assert_eq!(findings.matches("expected ident").count(), 1, "its cause is said once: {findings}");
    assert!(findings.contains("is 2 but the number of tasks is 1"), "{findings}");
    let text = home.run(&[&["db", "check"], STORE].concat());
    assert!(text.code == 1 && text.out.contains("Findings"), "{text:?}");
    let agent = home.serve(STORE);
    let page = home.run(&["task", "list", "-o", "json", "-a", &agent.address]).ok().json();
    let ids: Vec<_> = page["tasks"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(ids, [id(&parked)]);
    assert_eq!(home.run(&["task", "get", id(&done), "-a", &agent.address]).code, 1);
}

#[test]
fn gc_deletes_by_rules_and_says_what_went() {
    let home = Home::new();
    filled(&home);
    let gc = |arguments: &[&str]| home.run(&[&["db", "gc", "-o", "json"], STORE, arguments].concat());
    gc(&[]).error("A2ACLI_ERR_USAGE", 2);
    gc(&["--retention", "sometimes"]).error("A2ACLI_ERR_USAGE", 2);
    assert_eq!(gc(&["--retention", "ended=1h"]).ok().json()["tasks"], 0);
    let swept = gc(&["--retention", "ended=0s", "--log-retention", "0s", "--vacuum"]).ok().json();
    assert_eq!(swept["tasks"], 3, "{swept}");
    assert_eq!(export(&home, &[])[0]["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    // The rules of the server hold where none is given.
    let config = home.write("n.toml", "store = 'sqlite:./tasks.db'\n[retention]\nwaiting = '0s'\n");
    let text =
        home.run(&[&["db", "gc", "--retention", "ended=1h,failed=2h", "--log-retention", "10m"], STORE].concat()).ok();
    assert!(text.out.contains("Retention: ended=1h, failed=2h, log-retention=10m\n"), "{text:?}");
    let swept = home.run(&["db", "gc", "-o", "json", "--config", config.to_str().unwrap()]).ok().json();
    assert_eq!(swept["retention"], serde_json::json!(["waiting=0s"]));
    assert_eq!(swept["tasks"], 1, "{swept}");
}

#[test]
fn a_database_of_an_earlier_release_is_brought_up() {
    let home = Home::new();
    let connection = rusqlite::Connection::open(database(&home)).unwrap();
    connection.execute_batch(include_str!("../../../store/tests/it/second_schema.sql")).unwrap();
    connection.close().unwrap();
    let migrate =
        |arguments: &[&str]| home.run(&[&["db", "migrate", "-o", "json"], STORE, arguments].concat()).ok().json();
    let would = migrate(&["--dry-run"]);
    assert_eq!((&would["from"], &would["migrated"]), (&2.into(), &false.into()));
    let error = home.run(&[&["db", "check", "-o", "json"], STORE].concat()).error("A2ACLI_ERR_INTERNAL", 1);
    assert!(error["hint"].as_str().unwrap().contains("nuncio db migrate"), "{error}");
    assert_eq!(migrate(&[])["migrated"], true);
    let done = migrate(&[]);
    assert_eq!((&done["from"], &done["migrated"]), (&done["to"], &false.into()));
    let missing = home.run(&["db", "check", "--store", "sqlite:./none.db", "-o", "json"]);
    missing.error("A2ACLI_ERR_USAGE", 2);
    assert!(!home.path().join("none.db").exists());
}

#[test]
fn the_server_keeps_house_by_its_settings() {
    let home = Home::new();
    let agent = home.serve(&[STORE, &["--interrupted-expiry", "1s", "--stall-timeout", "1s"]].concat());
    let done = send(&home, &agent, &["hello"]);
    let parked = send(&home, &agent, &["input"]);
    let stalled = send(&home, &agent, &["slow 60", "--async"]);
    let get = |agent: &Agent, task: &Value| home.run(&["task", "get", id(task), "-o", "json", "-a", &agent.address]);
    for (task, reason) in [(&parked, "nobody answered within 1s"), (&stalled, "the agent was silent for 1s")] {
        let ended = eventually("the task fails", || {
            Some(get(&agent, task).ok().json()).filter(|it| it["status"]["state"] == "TASK_STATE_FAILED")
        });
        let text = ended["status"]["message"]["parts"][0]["text"].as_str().unwrap();
        assert!(text.ends_with(reason), "{text}");
    }
    drop(agent);
    let agent = home.serve(&[STORE, &["--retention", "failed=0s,completed=1d"]].concat());
    for task in [&parked, &stalled] {
        eventually("it is deleted", || (get(&agent, task).code != 0).then_some(()));
    }
    get(&agent, &done).ok();
    drop(agent);
    let wrong = home.run(&["serve", "--port", "0", "--retention", "working=1d", "-o", "json"]);
    assert!(wrong.error("A2ACLI_ERR_USAGE", 2)["message"].as_str().unwrap().contains("not a state"));
}

#[test]
fn tasks_of_another_agent_are_taken_over_on_request_only() {
    let home = Home::new();
    let start = |arguments: &[&str]| home.serve(&[STORE, arguments].concat());
    let first = start(&["--name", "Ada"]);
    send(&home, &first, &["--async", "slow 30"]);
    first.signal("KILL");
    drop(first);
    let program = ["--resume", "--exec", "--", "wc", "-w"];
    let refused = home.run(&[&["serve", "--port", "0"], STORE, &program].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    for said in [
        "holds 1 task of another agent, `Ada`",
        "this agent is `wc (command 19129bda)`",
        "--store sqlite:./wc-19129bda.db",
        "--adopt",
    ] {
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    // The hint does not name the database that was refused.
    std::fs::copy(home.path().join("tasks.db"), home.path().join("wc-19129bda.db")).unwrap();
    let refused = home.run(&[&["serve", "--port", "0"][..], &program].concat());
    assert!(refused.code == 2 && refused.err.contains("--store sqlite:./wc-19129bda-2.db;"), "{}", refused.err);
    // A command without a database names the databases of the folder.
    let missing = home.run(&["db", "check"]);
    let named = "--store sqlite:./tasks.db or --store sqlite:./wc-19129bda.db";
    assert!(missing.code == 2 && missing.err.contains(named), "{}", missing.err);
    // Nothing has happened to the task.
    let again = start(&["--name", "Ada"]);
    assert!(again.banner.contains("holds 1 task from before\n"), "{}", again.banner);
    drop(again);
    assert!(start(&[&["--adopt"][..], &program].concat()).banner.contains("holds 1 task from before\n"));
    assert_eq!(home.run(&[&["serve", "--port", "0", "--name", "Ada"], STORE].concat()).code, 2);
}

#[test]
fn each_agent_has_a_database_of_its_own_by_default() {
    let home = Home::new();
    // A name that a user chose is the name of the file, in any script.
    for (arguments, file) in [
        (&["--exec", "cat", "--name", "cat"][..], "cat.db"),
        (&["--name", "Ada L."], "ada-l.db"),
        (&["--name", "日本"], "日本.db"),
        (&[], "nuncio.db"),
    ] {
        let agent = Agent::start(home.command(&[&["serve", "--port", "0"], arguments].concat()));
        assert!(agent.banner.contains(&format!("Database: ./{file}")), "{}", agent.banner);
        send(&home, &agent, &["hello"]);
        drop(agent);
        assert!(home.path().join(file).exists());
        let show = home.run(&[&["config", "show", "--serve"][..], &["-o", "json"]].concat());
        assert!(show.out.contains("sqlite:./nuncio.db"), "{show:?}");
    }
    assert_eq!(home.run(&["db", "check", "-o", "json"]).ok().json()["tasks"], 1);
    // A database of an earlier release has the name only.
    let database = rusqlite::Connection::open(home.path().join("cat.db")).unwrap();
    database.execute("UPDATE store SET agent = 'cat'", []).unwrap();
    drop(database);
    let mut agent = Agent::start(home.command(&["serve", "--port", "0", "--exec", "cat"]));
    agent.child.kill().unwrap();
    let mut said = String::new();
    agent.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let hint = "hint: an earlier release kept tasks of this agent in ./cat.db; go on with them by --store sqlite:./cat.db --adopt";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn command_lines_have_databases_of_their_own() {
    let home = Home::new();
    let serve = |arguments: &[&str]| Agent::start(home.command(&[&["serve", "--port", "0"], arguments].concat()));
    let file = |agent: &Agent| {
        let line = agent.banner.lines().find_map(|line| line.strip_prefix("Database: ./")).unwrap();
        line.split(',').next().unwrap().to_owned()
    };
    let lines: [(&str, &[&str]); 6] = [
        ("wc-", &["--exec", "--", "wc", "-w"]),
        ("wc-", &["--exec", "--", "wc", "-l"]),
        ("wc-", &["--exec", "wc -w"]),
        ("sh-", &["--exec", "--", "sh", "-c", "cat"]),
        ("sh-", &["--exec", "cat | cat"]),
        ("sh-", &["--exec", "cat | wc"]),
    ];
    let mut files = Vec::new();
    for (name, line) in lines {
        let agent = serve(line);
        send(&home, &agent, &["hello"]);
        let file = file(&agent);
        assert!(file.starts_with(name) && !files.contains(&file), "{file} {files:?}");
        files.push(file);
    }
    let again = serve(lines[0].1);
    assert!(
        again.banner.contains(&format!("Database: ./{}, holds 1 task from before\n", files[0])),
        "{}",
        again.banner
    );
    drop(again);
    // Another command line under the same name, or in the database of the first, is another agent.
    drop(send_to(&home, serve(&["--name", "Ada", "--exec", "cat"])));
    let database = format!("sqlite:./{}", files[0]);
    for (arguments, owner) in [
        (&["--name", "Ada", "--exec", "tac"][..], "`Ada (command "),
        (&["--store", &database, "--exec", "--", "wc", "-l"], "`wc (command "),
    ] {
        let refused = home.run(&[&["serve", "--port", "0"], arguments].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
        for said in [owner, "--adopt, after its command line was changed"] {
            assert!(refused.err.contains(said), "{}", refused.err);
        }
    }
    drop(serve(&["--adopt", "--name", "Ada", "--exec", "tac"]));
    assert!(serve(&["--name", "Ada", "--exec", "tac"]).banner.contains("holds 1 task from before\n"));
}

/// Sends a message to an agent, and gives the agent back.
fn send_to(home: &Home, agent: Agent) -> Agent {
    send(home, &agent, &["hello"]);
    agent
}

#[test]
fn a_file_that_is_no_database_is_named_once_with_what_to_do() {
    let home = Home::new();
    std::fs::write(database(&home), "no database, ".repeat(500)).unwrap();
    let error = home.run(&[&["db", "check", "-o", "json"], STORE].concat()).error("A2ACLI_ERR_INTERNAL", 1);
    assert_eq!(error["message"].as_str().unwrap().matches("not a database").count(), 1, "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--store sqlite:PATH"), "{error}");
}
