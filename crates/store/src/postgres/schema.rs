//! The schema and how it came to be: one file per step, each run once, in a transaction with its number.

use tokio_postgres::{Client, Error, IsolationLevel, Transaction};

use super::{
    error::{PostgresError, explain},
    place::Place,
};

/// The steps from nothing to the present schema. A step that was released is never changed.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

/// Brings the schema to the present version, made if it is not there. Of several nodes that start at once one does it,
/// and the others wait.
pub(super) async fn prepare(client: &mut Client, place: &Place) -> Result<(), PostgresError> {
    let failed = |source: Error| PostgresError::Unusable {
        place: place.to_string(),
        reason: explain(&source),
        source: Some(source),
    };
    let encoding: String =
        client.query_one("SELECT current_setting('server_encoding')", &[]).await.map_err(failed)?.get(0);
    if encoding != "UTF8" {
        return Err(PostgresError::Encoding { place: place.to_string(), encoding });
    }
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await.map_err(failed)?;
    // Another's steps may take longer than what is usual.
    let waits = "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '60s'";
    transaction.batch_execute(waits).await.map_err(failed)?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('nuncio schema ' || $1::text, 0))";
    transaction.execute(lock, &[&place.schema]).await.map_err(failed)?;
    let version = version(&transaction, place).await?;
    let known = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    if version > known {
        return Err(PostgresError::Newer { place: place.to_string(), found: version, known });
    }
    for (step, number) in STEPS.iter().zip(1_i32..).skip(usize::try_from(version).unwrap_or_default()) {
        transaction.batch_execute(step).await.map_err(failed)?;
        transaction.execute("UPDATE nuncio_schema SET version = $1", &[&number]).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

/// The version that is there, 0 for a new one.
async fn version(transaction: &Transaction<'_>, place: &Place) -> Result<i32, PostgresError> {
    let schema = &place.schema;
    let failed = |source: Error| PostgresError::Unusable {
        place: place.to_string(),
        reason: explain(&source),
        source: Some(source),
    };
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1), \
        (SELECT count(*) FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)), \
        EXISTS (SELECT 1 FROM pg_class WHERE relname = 'nuncio_schema' \
            AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1))";
    let row = transaction.query_one(sql, &[schema]).await.map_err(failed)?;
    let (is_there, tables, is_ours): (bool, i64, bool) = (row.get(0), row.get(1), row.get(2));
    if is_ours {
        let row = transaction.query_one("SELECT version FROM nuncio_schema", &[]).await.map_err(failed)?;
        return Ok(row.get(0));
    }
    if tables > 0 {
        return Err(PostgresError::Foreign { place: place.to_string() });
    }
    // Its name is a plain one.
    let create = if is_there { String::new() } else { format!("CREATE SCHEMA {schema};") };
    let sql = format!(
        "{create} CREATE TABLE {schema}.nuncio_schema \
         (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL); \
         INSERT INTO {schema}.nuncio_schema (version) VALUES (0)"
    );
    transaction.batch_execute(&sql).await.map_err(failed)?;
    Ok(0)
}
