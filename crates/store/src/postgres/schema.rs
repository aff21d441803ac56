//! The schema, as a list of steps. Each step is one file and runs once, in the transaction that stores its number.

use tokio_postgres::{Client, Error, GenericClient, IsolationLevel};

use super::{
    error::{PostgresError, explain},
    place::DatabaseUrl,
};
use crate::SchemaVersion;

/// The steps from an empty database to the current schema. The statements of a released step must never change.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];

/// The number of each step after which a running node of an earlier release cannot read or write.
const INCOMPATIBLE: &[i32] = &[3, 6, 7];

/// The version of the schema of this release.
pub(super) fn version() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// Creates the schema or updates it to the current version. Returns the previous version. If several nodes start at the
/// same time, one node does the work and the others wait.
pub(super) async fn prepare(client: &mut Client, place: &DatabaseUrl) -> Result<SchemaVersion, PostgresError> {
    let failed = |source| unusable(place, source);
    check_encoding(client, place).await?;
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await.map_err(failed)?;
    // The steps of another node may take longer than the usual limits.
    let waits = "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '60s'";
    transaction.batch_execute(waits).await.map_err(failed)?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('nuncio schema ' || $1::text, 0))";
    transaction.execute(lock, &[&place.schema]).await.map_err(failed)?;
    let found = find(&transaction, place).await?;
    let version = match found {
        Found::Ours(version) => known(version, place)?,
        Found::Nothing { has_schema } => {
            // The name is plain and needs no quotes.
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
    let is_pending = |step: &i32| i64::from(*step) > version.found;
    if version.found > 0 && INCOMPATIBLE.iter().any(is_pending) {
        check_unused(&transaction, place).await?;
    }
    for (step, number) in STEPS.iter().zip(1_i32..).skip(usize::try_from(version.found).unwrap_or_default()) {
        transaction.batch_execute(step).await.map_err(failed)?;
        transaction.execute("UPDATE nuncio_schema SET version = $1", &[&number]).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)?;
    Ok(version)
}

/// Fails if a node has a lease. Until the end of the transaction, no node can join the store or renew its lease.
async fn check_unused(transaction: &impl GenericClient, place: &DatabaseUrl) -> Result<(), PostgresError> {
    let failed = |source| unusable(place, source);
    transaction.batch_execute("LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE").await.map_err(failed)?;
    let sql = "SELECT EXISTS (SELECT 1 FROM nodes WHERE expires > clock_timestamp())";
    let is_used: bool = transaction.query_one(sql, &[]).await.map_err(failed)?.get(0);
    if is_used { Err(PostgresError::InUse { place: place.to_string() }) } else { Ok(()) }
}

/// The version of the schema, 0 if the schema does not exist, and the version of this release. Changes nothing and
/// waits for no lock.
pub(super) async fn look(client: &Client, place: &DatabaseUrl) -> Result<SchemaVersion, PostgresError> {
    check_encoding(client, place).await?;
    match find(client, place).await? {
        Found::Ours(version) => known(version, place),
        Found::Nothing { .. } => known(0, place),
    }
}

/// The content of a schema.
enum Found {
    Nothing {
        has_schema: bool,
    },
    /// Tables of Nuncio, with this version.
    Ours(i32),
}

async fn find(client: &impl GenericClient, place: &DatabaseUrl) -> Result<Found, PostgresError> {
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

fn known(version: i32, place: &DatabaseUrl) -> Result<SchemaVersion, PostgresError> {
    let (found, known) = (i64::from(version), i64::from(self::version()));
    if found > known {
        return Err(PostgresError::Newer { place: place.to_string(), found, known });
    }
    Ok(SchemaVersion { found, known })
}

async fn check_encoding(client: &Client, place: &DatabaseUrl) -> Result<(), PostgresError> {
    let row = client.query_one("SELECT current_setting('server_encoding')", &[]).await;
    let encoding: String = row.map_err(|source| unusable(place, source))?.get(0);
    if encoding == "UTF8" { Ok(()) } else { Err(PostgresError::Encoding { place: place.to_string(), encoding }) }
}

fn unusable(place: &DatabaseUrl, source: Error) -> PostgresError {
    PostgresError::Unusable { place: place.to_string(), reason: explain(&source), source: Some(source) }
}
