//! The schema, as a list of steps. Each step is one file and runs once, in the transaction that stores its number.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::error::OpenError;

/// The steps from an empty database to the current schema. The statements of a released step must never change.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
];

/// The application id that marks a database of Nuncio: "Nunc" in ASCII.
const APPLICATION: i64 = 0x4e75_6e63;

/// Checks that the database is empty or a database of Nuncio with a known schema. Returns the number of its last step.
/// Changes nothing.
pub(super) fn identify(connection: &Connection, path: &Path) -> Result<i64, OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let known = known();
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
    let version = pragma("user_version")?;
    let application = pragma("application_id")?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    if application != APPLICATION && (tables > 0 || version != 0) {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    if version > known {
        return Err(OpenError::Newer { path: path.to_owned(), found: version, known });
    }
    Ok(version)
}

/// The number of the last step of this release.
pub(super) fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Updates the database to the current schema and increments the number of openings. Returns the new number.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<u64, OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let version = identify(&transaction, path)?;
    for (step, number) in STEPS.iter().zip(1..).skip(usize::try_from(version).unwrap_or_default()) {
        transaction.execute_batch(step).map_err(failed)?;
        transaction.pragma_update(None, "user_version", number).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    let openings: i64 = transaction
        .query_row("UPDATE store SET openings = openings + 1 RETURNING openings", [], |row| row.get(0))
        .map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(openings.unsigned_abs())
}

/// A database with the current schema and without tasks.
#[cfg(test)]
pub(super) fn in_memory() -> Connection {
    let mut connection = Connection::open_in_memory().expect("SQLite is there");
    prepare(&mut connection, Path::new(":memory:")).expect("the steps are right");
    connection
}

/// The query plan of SQLite for a statement.
#[cfg(test)]
pub(super) fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("the statement is right");
    let mut rows = statement.raw_query();
    let mut plan = Vec::new();
    while let Ok(Some(row)) = rows.next() {
        plan.push(row.get("detail").expect("a plan has details"));
    }
    plan
}
