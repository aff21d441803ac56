//! `nuncio db` on PostgreSQL, beside nodes that run.

use nuncio_testbed::{Database, Postgres};
use serde_json::Value;

use super::{id, send};
use crate::agent::{Agent, Home, Run, eventually};

const SECRET: &str = "made-up-secret";

/// A database of the test, and its address with a password that the server does not check.
struct Place {
    database: Database,
    url: String,
}

impl Place {
    fn new() -> Self {
        let database = Postgres::shared().unwrap().database().unwrap();
        let (login, rest) = database.url().split_once('@').unwrap();
        let user = login.strip_prefix("postgres://").unwrap().split(':').next().unwrap();
        let url = format!("postgres://{user}:{SECRET}@{rest}");
        Self { database, url }
    }

    fn serve(&self, home: &Home, arguments: &[&str]) -> Agent {
        home.serve(&[&["--store", &self.url, "--lease", "1s"], arguments].concat())
    }

    /// Runs a command; its output must not contain the password.
    fn run(&self, home: &Home, arguments: &[&str]) -> Run {
        let run = home.run(&[&["db"], arguments, &["--store", &self.url, "-o", "json"]].concat());
        assert!(!format!("{run:?}").contains(SECRET), "{run:?}");
        run
    }

    fn findings(&self, home: &Home) -> Vec<String> {
        let run = self.run(home, &["check"]);
        let findings = run.json()["findings"].clone();
        let findings: Vec<_> = findings.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
        assert_eq!(run.code, i32::from(!findings.is_empty()), "{run:?}");
        findings
    }

    fn assert(&self, condition: &str) {
        let sql = format!("SET search_path = nuncio; DO $$ BEGIN ASSERT ({condition}); END $$");
        self.database.execute(&sql).unwrap();
    }

    fn execute(&self, sql: &str) {
        self.database.execute(&format!("SET search_path = nuncio; {sql}")).unwrap();
    }
}

fn get(home: &Home, agent: &Agent, id: &str) -> Value {
    home.run(&["task", "get", id, "-o", "json", "-a", &agent.address]).ok().json()
}

#[test]
fn all_but_a_backup_goes_beside_a_node_and_leaves_its_work_alone() {
    let (home, place) = (Home::new(), Place::new());
    let agent = place.serve(&home, &[]);
    let done = send(&home, &agent, &["hello"]);
    let at_work = send(&home, &agent, &["slow 9", "--async"]);
    let export = |arguments: &[&str]| place.run(&home, &[&["export"], arguments].concat()).ok().lines();
    assert!(place.findings(&home).is_empty());
    let all = export(&[]);
    assert_eq!(all.len(), 2);
    assert!(all.iter().any(|line| line["task"] == done), "{all:?}");
    assert_eq!(export(&["--state", "completed"]).len(), 1);
    let migrated = place.run(&home, &["migrate"]).ok().json();
    assert_eq!((&migrated["from"], &migrated["migrated"]), (&migrated["to"], &false.into()));
    assert!(migrated["database"].as_str().unwrap().ends_with(", schema nuncio"), "{migrated}");

    place.run(&home, &["gc"]).error("A2ACLI_ERR_USAGE", 2);
    place.run(&home, &["gc", "--vacuum"]).error("A2ACLI_ERR_USAGE", 2);
    assert_eq!(place.run(&home, &["gc", "--retention", "0s", "--log-retention", "0s"]).ok().json()["tasks"], 1);
    place.assert("(SELECT count(*) FROM nodes) = 1");
    place.assert("(SELECT count(*) FROM tasks WHERE owner = (SELECT node FROM nodes) AND epoch = 1) = 1");
    assert_eq!(get(&home, &agent, id(&at_work))["status"]["state"], "TASK_STATE_WORKING");

    let asked = place.run(&home, &["delete", "--task", id(&at_work)]).ok().json();
    assert_eq!((&asked["tasks"], &asked["deleted"]), (&1.into(), &false.into()));
    assert_eq!(place.run(&home, &["delete", "--task", id(&at_work), "--yes"]).ok().json()["tasks"], 1);
    assert!(export(&[]).is_empty());
    let is_gone = |node: &Agent| {
        home.run(&["task", "get", id(&at_work), "-o", "json", "-a", &node.address]).out.contains("TaskNotFoundError")
    };
    let other = place.serve(&home, &[]);
    assert!(is_gone(&other));
    // The node has the task in memory until its next write.
    eventually("its turn ends", || is_gone(&agent).then_some(()));
    send(&home, &agent, &["it serves on"]);
    assert!(place.findings(&home).is_empty());
}

#[test]
fn a_backup_is_left_to_pg_dump() {
    let (home, place) = (Home::new(), Place::new());
    let error = place.run(&home, &["backup", "copy.dump"]).error("A2ACLI_ERR_USAGE", 2);
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("pg_dump --format=custom --schema=nuncio --file=copy.dump postgres://"), "{hint}");
    assert!(!home.path().join("copy.dump").exists());
}

#[test]
fn a_schema_is_made_and_one_that_is_not_ours_is_refused() {
    let (home, place) = (Home::new(), Place::new());
    for command in [&["check"][..], &["export"], &["gc", "--retention", "0s"], &["delete", "--tenant", "", "--yes"]] {
        let error = place.run(&home, command).error("A2ACLI_ERR_USAGE", 2);
        assert!(error["message"].as_str().unwrap().starts_with("there are no tasks at "), "{error}");
    }
    let would = place.run(&home, &["migrate", "--dry-run"]).ok().json();
    assert_eq!((&would["from"], &would["migrated"]), (&0.into(), &false.into()));
    place.database.execute("DO $$ BEGIN ASSERT to_regnamespace('nuncio') IS NULL; END $$").unwrap();
    let migrated = place.run(&home, &["migrate"]).ok().json();
    assert_eq!((&migrated["to"], &migrated["migrated"]), (&would["to"], &true.into()));
    assert_eq!(place.run(&home, &["migrate"]).ok().json()["migrated"], false);
    assert!(place.findings(&home).is_empty());
    place.assert("NOT EXISTS (SELECT 1 FROM nodes)");

    place.execute("UPDATE nuncio_schema SET version = 1000");
    for command in [&["migrate"][..], &["migrate", "--dry-run"], &["check"]] {
        let error = place.run(&home, command).error("A2ACLI_ERR_INTERNAL", 1);
        assert!(error["message"].as_str().unwrap().contains("has version 1000"), "{error}");
    }
    place.assert("(SELECT version FROM nuncio_schema) = 1000");
    place
        .database
        .execute("DROP SCHEMA nuncio CASCADE; CREATE SCHEMA nuncio; CREATE TABLE nuncio.bills (n int)")
        .unwrap();
    for command in [&["migrate"][..], &["migrate", "--dry-run"], &["check"]] {
        let error = place.run(&home, command).error("A2ACLI_ERR_INTERNAL", 1);
        assert!(error["message"].as_str().unwrap().contains("tables of another program"), "{error}");
    }
    place.assert("to_regclass('nuncio_schema') IS NULL");
}

#[test]
fn a_check_names_what_is_wrong() {
    let (home, place) = (Home::new(), Place::new());
    // A commit for each piece.
    let piece = r#"{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true}}"#;
    home.write("program.sh", &format!("for _ in 1 2 3; do sleep 0.2; echo '{piece}'; done"));
    let agent = place.serve(&home, &["--jsonl", "--", "sh", "program.sh"]);
    let task = send(&home, &agent, &["hello"]);
    drop(agent);
    assert!(place.findings(&home).is_empty());
    let tables = ["tasks", "bodies", "events", "totals", "push_configs", "commands"];
    for table in tables {
        place.execute(&format!("CREATE TABLE public.{table} AS TABLE {table}"));
    }
    place.assert("(SELECT count(*) FROM events) > 2");
    let id = id(&task);
    let columns = "(id, task, tenant, caller, body, enqueued_at)";
    let command = |id: &str, task: &str, age: &str| {
        let values = format!("('{id}', '{task}', '', '', '', now() - interval '{age}')");
        place.execute(&format!("INSERT INTO commands {columns} VALUES {values}"));
    };
    for (slip, finding) in [
        ("UPDATE totals SET tasks = tasks + 1 WHERE state = 3".to_owned(), "is 2 but the number of tasks is 1"),
        ("UPDATE tasks SET owner = 99".to_owned(), "is running on node 99, which does not exist"),
        ("UPDATE bodies SET folded = folded + 1".to_owned(), "has a snapshot of record"),
        ("UPDATE tasks SET sequence = sequence - 1".to_owned(), "has records after its last record"),
        ("UPDATE tasks SET sequence = sequence + 1".to_owned(), "lacks records after its snapshot"),
        (
            "DELETE FROM bodies; DELETE FROM events WHERE last = (SELECT min(last) FROM events)".to_owned(),
            "cannot be read",
        ),
        ("UPDATE bodies SET body = 'no JSON'".to_owned(), "cannot be read"),
        ("DELETE FROM tasks; DELETE FROM totals".to_owned(), "rows of records belong to missing tasks"),
        ("DELETE FROM tasks; DELETE FROM totals".to_owned(), " bodies belong to missing tasks"),
        (
            "DELETE FROM events WHERE last = (SELECT last FROM events ORDER BY last OFFSET 1 LIMIT 1)".to_owned(),
            " follows on ",
        ),
    ] {
        place.execute(&slip);
        let findings = place.findings(&home);
        assert!(findings.iter().any(|it| it.contains(finding)), "{slip}: {findings:?}");
        for table in tables {
            let identity = if table == "commands" { "OVERRIDING SYSTEM VALUE" } else { "" };
            place.execute(&format!("DELETE FROM {table}; INSERT INTO {table} {identity} TABLE public.{table}"));
        }
    }
    assert!(place.findings(&home).is_empty());
    // What a crash leaves of commands is no damage, and worth a note after a day.
    command("a", id, "23 hours");
    command("b", id, "25 hours");
    command("c", "none", "25 hours");
    let checked = place.run(&home, &["check"]).ok().json();
    let notes = [id, "none"].map(|task| format!("a command waits for task {task}, which has ended or does not exist"));
    assert_eq!((&checked["findings"], &checked["notes"]), (&Value::Array(Vec::new()), &notes.as_slice().into()));
}

#[test]
fn what_a_killed_node_leaves_is_found_and_another_node_goes_on() {
    let (home, place) = (Home::new(), Place::new());
    let mut first = place.serve(&home, &[]);
    let done = send(&home, &first, &["hello"]);
    let at_work = send(&home, &first, &["slow 60", "--async"]);
    first.child.kill().unwrap();
    first.wait();
    let finding = format!("task {} is at work, and no process is", id(&at_work));
    eventually("its lease is over", || place.findings(&home).iter().any(|it| it.starts_with(&finding)).then_some(()));
    let again = place.serve(&home, &[]);
    let other = place.serve(&home, &[]);
    for node in [&again, &other] {
        assert_eq!(get(&home, node, id(&done)), done);
        let ended = eventually("the task is over", || {
            Some(get(&home, node, id(&at_work))).filter(|it| it["status"]["state"] == "TASK_STATE_FAILED")
        });
        assert!(ended["status"]["message"]["parts"][0]["text"].as_str().unwrap().contains("the server stopped"));
    }
    let late = send(&home, &again, &["late"]);
    assert_eq!(get(&home, &other, id(&late)), late);
    drop(again);
    assert_eq!(get(&home, &other, id(&late)), late);
    assert!(place.findings(&home).is_empty());
}

#[test]
fn a_password_among_the_parameters_is_hidden_too() {
    let home = Home::new();
    let url = format!("postgres://ann@127.0.0.1:1/d?password={SECRET}&connect_timeout=1");
    let environment = [("NUNCIO_SERVE_STORE", &*url)];
    let shown = home.run_with(&["config", "show", "--serve"], &environment, "").ok();
    assert!(shown.out.contains("postgres://ann@127.0.0.1:1/d?password=***&connect_timeout=1"), "{shown:?}");
    for command in [&["serve", "--port", "0"][..], &["db", "check", "--debug"], &["db", "backup", "x"]] {
        let run = home.run_with(command, &environment, "");
        assert!(run.code != 0 && !format!("{run:?}").contains(SECRET), "{run:?}");
    }
    let path = home.write("agent.toml", &format!("store = '{url}'\n"));
    let run = home.run(&["config", "show", "--config", path.to_str().unwrap()]).ok();
    assert!(run.err.contains("chmod 600") && !format!("{run:?}").contains(SECRET), "{run:?}");
}
