//! The schema and how it came to be: one file per step, each run once, in a transaction with its number.

use tokio_postgres::{Client, Error, GenericClient, IsolationLevel};

use super::{
    error::{PostgresError, explain},
    place::Place,
};
use crate::SchemaVersion;

/// The steps from nothing to the present schema. A step that was released is never changed.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];

/// Brings the schema to the present version, made if it is not there, and says which it was. Of several nodes that
/// start at once one does it, and the others wait.
pub(super) async fn prepare(client: &mut Client, place: &Place) -> Result<SchemaVersion, PostgresError> {
    let failed = |source| unusable(place, source);
    check_encoding(client, place).await?;
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await.map_err(failed)?;
    // Another's steps may take longer than what is usual.
    let waits = "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '60s'";
    transaction.batch_execute(waits).await.map_err(failed)?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('nuncio schema ' || $1::text, 0))";
    transaction.execute(lock, &[&place.schema]).await.map_err(failed)?;
    let found = find(&transaction, place).await?;
    let version = match found {
        Found::Ours(version) => known(version, place)?,
        Found::Nothing { has_schema } => {
            // Its name is a plain one.
            let schema = &place.schema;
            let create = if has_schema { String::new() } else { format!("CREATE SCHEMA {schema};") };
            let sql = format!(
                "{create} CREATE TABLE {schema}.nuncio_schema \
                 (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL); \
                 INSERT INTO {schema}.nuncio_schema (version) VALUES (0)"
            );
            transaction.batch_execute(&sql).await.map_err(failed)?;
            known(0, place)?
        }
    };
    for (step, number) in STEPS.iter().zip(1_i32..).skip(usize::try_from(version.found).unwrap_or_default()) {
        transaction.batch_execute(step).await.map_err(failed)?;
        transaction.execute("UPDATE nuncio_schema SET version = $1", &[&number]).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)?;
    Ok(version)
}

/// The version that is there, 0 where there is none, and that of this release. Changes nothing, and waits for nobody.
pub(super) async fn look(client: &Client, place: &Place) -> Result<SchemaVersion, PostgresError> {
    check_encoding(client, place).await?;
    match find(client, place).await? {
        Found::Ours(version) => known(version, place),
        Found::Nothing { .. } => known(0, place),
    }
}

/// What a schema has in it.
enum Found {
    Nothing {
        has_schema: bool,
    },
    /// Our tables, of this version.
    Ours(i32),
}

async fn find(client: &impl GenericClient, place: &Place) -> Result<Found, PostgresError> {
    let failed = |source| unusable(place, source);
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1), \
        (SELECT count(*) FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)), \
        EXISTS (SELECT 1 FROM pg_class WHERE relname = 'nuncio_schema' \
            AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1))";
    let row = client.query_one(sql, &[&place.schema]).await.map_err(failed)?;
    let (has_schema, tables, is_ours): (bool, i64, bool) = (row.get(0), row.get(1), row.get(2));
    if is_ours {
        let row = client.query_one("SELECT version FROM nuncio_schema", &[]).await.map_err(failed)?;
        return Ok(Found::Ours(row.get(0)));
    }
    if tables > 0 {
        return Err(PostgresError::Foreign { place: place.to_string() });
    }
    Ok(Found::Nothing { has_schema })
}

fn known(version: i32, place: &Place) -> Result<SchemaVersion, PostgresError> {
    let (found, known) = (i64::from(version), i64::try_from(STEPS.len()).unwrap_or(i64::MAX));
    if found > known {
        return Err(PostgresError::Newer { place: place.to_string(), found, known });
    }
    Ok(SchemaVersion { found, known })
}

async fn check_encoding(client: &Client, place: &Place) -> Result<(), PostgresError> {
    let row = client.query_one("SELECT current_setting('server_encoding')", &[]).await;
    let encoding: String = row.map_err(|source| unusable(place, source))?.get(0);
    if encoding == "UTF8" { Ok(()) } else { Err(PostgresError::Encoding { place: place.to_string(), encoding }) }
}

fn unusable(place: &Place, source: Error) -> PostgresError {
    PostgresError::Unusable { place: place.to_string(), reason: explain(&source), source: Some(source) }
}
