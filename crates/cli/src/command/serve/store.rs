//! Where tasks are kept.

#[cfg(feature = "postgres")]
mod postgres;

use std::{path::PathBuf, sync::Arc};

use nuncio_engine::{MemoryStore, TaskStore, address, store::MemoryStoreBuilder};
use nuncio_model::error::with_causes;
use nuncio_store::{OpenError, SqliteOptions, SqliteStore, Synchronous};

use super::settings::Settings;
use crate::error::CliError;

/// A store, and what people are told of it.
pub(super) struct Opened {
    pub(super) store: Arc<dyn TaskStore>,
    /// The database; `None` where there is none.
    pub(super) database: Option<String>,
    /// How many tasks are there already: perhaps those of another agent.
    pub(super) tasks: u64,
    /// The agent that was served last, where that was another.
    pub(super) other: Option<String>,
}

/// Where it is.
#[derive(Debug)]
pub(crate) enum Place {
    Memory,
    Sqlite(PathBuf),
    /// Its address.
    Postgres(String),
}

impl Place {
    pub(super) fn of(settings: &Settings) -> Result<Self, CliError> {
        let wanted = settings.get("store").unwrap_or("sqlite:./nuncio.db");
        if wanted == "memory" {
            return Ok(Self::Memory);
        }
        if is_postgres(wanted) {
            return Ok(Self::Postgres(wanted.to_owned()));
        }
        let Some(path) = wanted.strip_prefix("sqlite:").filter(|path| !path.is_empty()) else {
            let wanted = address::without_secrets(wanted);
            let reason = format!("`{wanted}` is none of memory, sqlite:PATH and postgres://USER@HOST/DATABASE");
            return Err(settings.wrong("store", &reason).with_hint(
                "a file of its own is --store sqlite:./tasks.db; without --store it is sqlite:./nuncio.db",
            ));
        };
        if !address::secrets(wanted).is_empty() {
            let wanted = address::without_secrets(wanted);
            return Err(settings.wrong("store", &format!("`{wanted}` has a login, and SQLite is a file")).with_hint(
                "a file is --store sqlite:./tasks.db, a database server --store postgres://USER@HOST/DATABASE",
            ));
        }
        Ok(Self::Sqlite(path.strip_prefix("//").unwrap_or(path).into()))
    }
}

/// A store that is yet to be opened.
pub(super) enum Wanted {
    Memory(MemoryStoreBuilder),
    Sqlite(PathBuf, SqliteOptions),
    #[cfg(feature = "postgres")]
    Postgres(String, nuncio_store::PostgresOptions),
}

/// The store that the settings want.
pub(super) fn wanted(settings: &Settings) -> Result<Wanted, CliError> {
    Ok(match Place::of(settings)? {
        Place::Sqlite(_) | Place::Memory if settings.get("lease").is_some() => {
            return Err(settings
                .wrong("lease", "the store belongs to this process alone, so nobody could take its tasks over")
                .with_hint("share a store with --store postgres://HOST/DATABASE, or leave --lease out"));
        }
        Place::Sqlite(path) => Wanted::Sqlite(path, sqlite_options(settings)?),
        #[cfg(feature = "postgres")]
        Place::Postgres(address) => {
            let options = postgres::options(settings)?;
            postgres::check(settings, &address, &options)?;
            Wanted::Postgres(address, options)
        }
        #[cfg(not(feature = "postgres"))]
        Place::Postgres(address) => {
            let reason = format!("`{}`: PostgreSQL is not built into this nuncio", address::without_secrets(&address));
            return Err(settings.wrong("store", &reason));
        }
        // Without it logs go with the end of their tasks.
        Place::Memory => Wanted::Memory(MemoryStore::builder().keep_log(settings.get("log-retention").is_some())),
    })
}

fn sqlite_options(settings: &Settings) -> Result<SqliteOptions, CliError> {
    let mut options = SqliteOptions::new();
    if let Some(when) = settings.get("sqlite-synchronous") {
        options = options.with_synchronous(match when.to_ascii_lowercase().as_str() {
            "normal" => Synchronous::Normal,
            "full" => Synchronous::Full,
            _ => return Err(settings.wrong("sqlite-synchronous", &format!("`{when}` is neither normal nor full"))),
        });
    }
    if let Some(bytes) = settings.size("store-cache")? {
        options = options.with_cache(bytes as u64);
    }
    if let Some(retention) = settings.duration("log-retention")? {
        options = options.with_log_retention(retention);
    }
    Ok(options)
}

/// Opens a store for an agent of this name.
pub(super) async fn open(wanted: Wanted, agent: &str) -> Result<Opened, CliError> {
    let (path, options) = match wanted {
        Wanted::Sqlite(path, options) => (path, options),
        #[cfg(feature = "postgres")]
        Wanted::Postgres(address, options) => return postgres::open(&address, options).await,
        Wanted::Memory(builder) => {
            return Ok(Opened { store: Arc::new(builder.build()), database: None, tasks: 0, other: None });
        }
    };
    let store = SqliteStore::open(&path, options).await.map_err(|error| explain(&error))?;
    let unreadable = |error| CliError::internal(format!("stored tasks cannot be read: {error}"));
    let tasks = store.count().await.map_err(unreadable)?;
    let other = store.served_by(agent).await.map_err(unreadable)?;
    Ok(Opened { store: Arc::new(store), database: Some(path.display().to_string()), tasks, other })
}

/// Whether a store is in PostgreSQL.
pub(super) fn is_postgres(store: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| store.starts_with(scheme))
}

#[cfg(feature = "postgres")]
pub(crate) use postgres::explain as explain_postgres;
#[cfg(all(test, feature = "postgres"))]
pub(super) use postgres::options as postgres_options;

pub(crate) fn explain(error: &OpenError) -> CliError {
    let text = with_causes(error);
    if let OpenError::InUse { .. } = error {
        let message = text.split_once("; ").map_or(&*text, |(message, _)| message);
        return CliError::internal(message)
            .with_hint("stop that one, or give this one a database of its own: --store sqlite:PATH");
    }
    // What to do stands behind a semicolon.
    match text.split_once("; ") {
        Some((message, hint)) => CliError::internal(message).with_hint(hint),
        None => CliError::internal(text).with_hint("choose another place with --store sqlite:PATH, or --store memory"),
    }
}
