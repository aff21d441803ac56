//! Checks the consistency of a database: its file, and the relations between its tables.

use nuncio_engine::StoreError;
use rusqlite::Connection;

use super::{SqliteStore, error::store_error};

/// The maximum number of findings per rule.
const FINDINGS: usize = 100;

/// The rules. Each query returns texts that describe violations.
const RULES: &[&str] = &[
    "SELECT 'task ' || id || ' belongs to no scope' FROM tasks WHERE scope NOT IN (SELECT scope FROM scopes)",
    "SELECT 'task ' || id || ' has no body' FROM tasks \
     WHERE body IS NULL AND folded > 0 AND task NOT IN (SELECT task FROM bodies)",
    "SELECT 'task ' || id || ' has a snapshot of record ' || folded || ' but its last record is ' || sequence \
     FROM tasks WHERE folded > sequence",
    "SELECT count(*) || ' large bodies belong to missing tasks' FROM bodies \
     WHERE task NOT IN (SELECT task FROM tasks) HAVING count(*) > 0",
    "SELECT count(*) || ' webhooks belong to missing tasks' FROM push_configs \
     WHERE task NOT IN (SELECT task FROM tasks) HAVING count(*) > 0",
    "SELECT count(*) || ' rows of records belong to missing tasks' FROM events \
     WHERE key >> 32 NOT IN (SELECT task FROM tasks) AND key >> 32 NOT IN (SELECT task FROM deleted) \
     HAVING count(*) > 0",
    "SELECT 'task ' || id || ' has records after its last record' FROM tasks \
     WHERE EXISTS (SELECT 1 FROM events WHERE key > (task << 32 | sequence) AND key <= (task << 32 | 4294967295))",
    "SELECT 'task ' || id || ' lacks records after its snapshot' FROM tasks \
     WHERE folded < sequence AND NOT EXISTS (SELECT 1 FROM events WHERE key = task << 32 | sequence)",
    "SELECT 'the counter of scope ' || scope || ', state ' || state || ' is ' || coalesce(totals.tasks, 0) || \
     ' but the number of tasks is ' || coalesce(found.tasks, 0) \
     FROM totals FULL JOIN (SELECT scope, state, count(*) AS tasks FROM tasks GROUP BY scope, state) AS found \
     USING (scope, state) WHERE coalesce(totals.tasks, 0) <> coalesce(found.tasks, 0)",
];

impl SqliteStore {
    /// Checks whether the file is intact, by SQLite's own check, and whether the tables are consistent. Returns a
    /// description of each problem; no descriptions if the database is consistent. The check sees one moment, also
    /// while another process writes.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn verify(&self) -> Result<Vec<String>, StoreError> {
        self.readers.read(|connection| verify(connection).map_err(store_error)).await
    }
}

fn verify(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut findings = words(connection, "PRAGMA integrity_check(100)")?;
    findings.retain(|finding| finding != "ok");
    for rule in RULES {
        match words(connection, rule) {
            // If the file is damaged, the queries of the rules may fail.
            Err(_) if !findings.is_empty() => break,
            found => findings.extend(found?),
        }
    }
    Ok(findings)
}

fn words(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.take(FINDINGS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema;

    #[test]
    fn each_rule_finds_only_its_own_violation() {
        let database = schema::in_memory();
        assert_eq!(verify(&database).unwrap(), [""; 0]);
        let whole = "INSERT INTO scopes VALUES (1, 't', '=a'); INSERT INTO totals VALUES (1, 3, 1), (1, 4, 0); \
            INSERT INTO tasks VALUES (7, 'x', 1, 'c', 3, 0, 0, 2, 1, 0, 0, NULL, 1, NULL, NULL); \
            INSERT INTO bodies VALUES (7, '{}', NULL); \
            INSERT INTO events VALUES (7 << 32 | 1, '[]'), (7 << 32 | 2, '[]'), (9 << 32 | 1, '[]'); \
            INSERT INTO deleted VALUES (9);";
        for (slip, finding) in [
            ("", None),
            ("UPDATE tasks SET scope = 2; UPDATE totals SET scope = 2", Some("task x belongs to no scope")),
            ("DELETE FROM bodies", Some("task x has no body")),
            ("UPDATE tasks SET folded = 3", Some("task x has a snapshot of record 3 but its last record is 2")),
            ("INSERT INTO bodies VALUES (8, '{}', NULL)", Some("1 large bodies belong to missing tasks")),
            (
                "INSERT INTO push_configs VALUES (8, 'p', '{}', 0, 0, 0, 0, NULL, NULL)",
                Some("1 webhooks belong to missing tasks"),
            ),
            ("DELETE FROM deleted", Some("1 rows of records belong to missing tasks")),
            ("INSERT INTO events VALUES (7 << 32 | 3, '[]')", Some("task x has records after its last record")),
            ("DELETE FROM events WHERE key = 7 << 32 | 2", Some("task x lacks records after its snapshot")),
            (
                "UPDATE totals SET tasks = 2 WHERE state = 3",
                Some("the counter of scope 1, state 3 is 2 but the number of tasks is 1"),
            ),
        ] {
            database.execute_batch(&format!("BEGIN; {whole} {slip}")).unwrap();
            assert_eq!(verify(&database).unwrap(), finding.into_iter().collect::<Vec<_>>(), "{slip}");
            database.execute_batch("ROLLBACK").unwrap();
        }
    }
}
