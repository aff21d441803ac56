//! A database of PostgreSQL, beside the nodes that run.

use std::{path::Path, time::Duration};

use nuncio_store::{PostgresError, PostgresOptions, PostgresStore, SchemaVersion};

use crate::{command::serve, error::CliError};

/// How long the server may work at one statement: a check reads whole tables.
const LONGEST: Duration = Duration::from_mins(10);

fn options() -> PostgresOptions {
    PostgresOptions::new().with_connections(1).with_timeouts(LONGEST, LONGEST + Duration::from_secs(5))
}

/// Opens the store without a node: other nodes do not see this process.
pub(super) async fn open(url: &str) -> Result<PostgresStore, CliError> {
    PostgresStore::open_beside(url, options()).await.map_err(|error| refused(&error))
}

/// `user@host/database, schema nuncio`.
pub(super) fn shown(url: &str) -> Result<String, CliError> {
    PostgresStore::place_of(url).map_err(|error| refused(&error))
}

pub(super) async fn schema(url: &str) -> Result<SchemaVersion, CliError> {
    PostgresStore::schema(url, options()).await.map_err(|error| refused(&error))
}

pub(super) async fn migrate(url: &str) -> Result<SchemaVersion, CliError> {
    PostgresStore::migrate(url, options()).await.map_err(|error| refused(&error))
}

/// Copies are made by PostgreSQL's own program.
pub(super) fn backup(url: &str, to: &Path) -> CliError {
    match PostgresStore::dump_command(url, &to.display().to_string()) {
        Ok(command) => {
            CliError::usage("a database of PostgreSQL is copied by PostgreSQL's own pg_dump, also while it is served")
                .with_hint(format!("run {command}; pg_restore brings it back"))
        }
        Err(error) => refused(&error),
    }
}

fn refused(error: &PostgresError) -> CliError {
    let explained = serve::explain_postgres(error);
    match error {
        PostgresError::Url(_) | PostgresError::Absent { .. } => {
            CliError { code: crate::error::Code::Usage, ..explained }
        }
        _ => explained,
    }
}
