//! Tasks in PostgreSQL.

use std::{sync::Arc, time::Duration};

use nuncio_engine::TaskStore as _;
use nuncio_push::DispatcherBuilder;
use nuncio_store::{PostgresError, PostgresOptions, PostgresStore};

use super::Opened;
use crate::{command::serve::settings::Settings, error::CliError};

pub(super) async fn open(url: &str, options: PostgresOptions) -> Result<Opened, CliError> {
    let store = PostgresStore::open(url, options).await.map_err(|error| explain(&error))?;
    let tasks =
        store.count().await.map_err(|error| CliError::internal(format!("stored tasks cannot be read: {error}")))?;
    let node = store.cluster().map(|cluster| format!(", node {}", cluster.node())).unwrap_or_default();
    let database = format!("PostgreSQL, {}{node}", store.place());
    Ok(Opened { store: Arc::new(store), database: Some(database), tasks })
}

/// Refuses an address that none can be.
pub(super) fn check(settings: &Settings, url: &str, options: &PostgresOptions) -> Result<(), CliError> {
    PostgresStore::check_url(url, options).map_err(|error| match &error {
        PostgresError::Url(reason) => settings
            .wrong("store", reason)
            .with_hint("write it as postgres://USER:PASSWORD@HOST/DATABASE?schema=nuncio&sslmode=verify-full"),
        error => explain(error),
    })
}

/// What the settings say of the store and the nodes.
pub(in crate::command::serve) fn options(settings: &Settings) -> Result<PostgresOptions, CliError> {
    let mut options = PostgresOptions::new();
    if let Some(lease) = settings.duration("lease")? {
        if lease < Duration::from_secs(1) {
            return Err(settings.wrong("lease", "it is shorter than a second"));
        }
        options = options.with_lease(lease);
    }
    if let Some(retention) = settings.duration("log-retention")? {
        options = options.with_log_retention(retention);
    }
    if let Some(timeout) = settings.duration("webhook-timeout")? {
        // The time of an attempt, with a margin for the database.
        let claim = timeout.saturating_mul(2).saturating_add(DispatcherBuilder::TIMEOUT);
        options.push_claim = options.push_claim.max(claim);
    }
    Ok(options)
}

pub(crate) fn explain(error: &PostgresError) -> CliError {
    // What to do stands behind a semicolon.
    let text = error.to_string();
    match text.split_once("; ") {
        Some((message, hint)) => CliError::internal(message).with_hint(hint),
        None => CliError::internal(text).with_hint(match error {
            PostgresError::Unreachable { reason, .. } if is_missing(reason) => {
                "create it first: CREATE DATABASE, or createdb; the schema in it is made by itself"
            }
            PostgresError::Unreachable { .. } => "check that the server runs, and the host, user and password",
            _ => "name another database or schema with --store postgres://USER@HOST/DATABASE?schema=NAME",
        }),
    }
}

/// Whether the server answers, and has no such database.
fn is_missing(reason: &str) -> bool {
    reason.contains("database \"") && reason.contains("does not exist")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_missing_is_to_be_created() {
        let unreachable = |reason: &str| PostgresError::Unreachable {
            place: "ann@h/nodb, schema nuncio".into(),
            reason: reason.into(),
            source: None,
        };
        let hint = |reason: &str| explain(&unreachable(reason)).hint.unwrap();
        assert!(hint("database \"nodb\" does not exist").contains("CREATE DATABASE"));
        assert!(hint("connection refused").contains("check that the server runs"));
    }
}
