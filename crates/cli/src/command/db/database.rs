//! The database of a command: SQLite or PostgreSQL.

use nuncio_engine::{StoreError, TaskStore};
use nuncio_store::{Owner, SchemaVersion, SqliteStore, Which};

#[cfg(feature = "postgres")]
use super::postgres;
use super::sqlite;
use crate::{
    command::serve::{Kept, Place},
    error::CliError,
};

/// A database that is open.
pub(super) enum Database {
    Sqlite(SqliteStore),
    #[cfg(feature = "postgres")]
    Postgres(nuncio_store::PostgresStore),
}

impl Database {
    /// Opens the database for reading; servers may use the database at the same time.
    pub(super) async fn reading(kept: &Kept) -> Result<Self, CliError> {
        match &kept.place {
            Place::Sqlite(path) => sqlite::reading(path).await.map(Self::Sqlite),
            #[cfg(feature = "postgres")]
            Place::Postgres(url) => postgres::open(url).await.map(Self::Postgres),
            place => Err(no_database(place)),
        }
    }

    /// Opens the database for writing. The database must exist, and no other process may use a database of SQLite.
    pub(super) async fn writing(kept: &Kept) -> Result<Self, CliError> {
        match &kept.place {
            Place::Sqlite(path) => sqlite::writing(path).await.map(Self::Sqlite),
            _ => Self::reading(kept).await,
        }
    }

    pub(super) fn store(&self) -> &dyn TaskStore {
        match self {
            Self::Sqlite(store) => store,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store,
        }
    }

    /// The owners of the tasks.
    pub(super) async fn owners(&self, which: Which<'_>) -> Result<Vec<Owner>, StoreError> {
        match self {
            Self::Sqlite(store) => store.owners(which).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.owners(which).await,
        }
    }

    /// The remedy for a damaged database.
    pub(super) const fn advice(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => {
                "stop the server, keep the file, and put a copy of `nuncio db backup` in its place; without one, \
                 `sqlite3 FILE .recover | sqlite3 NEW` writes what can be read to a new file, which is to be checked again"
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "keep a copy of the schema, and restore it from the last `pg_dump` that was whole",
        }
    }

    /// Harmless remains of earlier processes.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "with PostgreSQL there is one to ask"))]
    pub(super) async fn notes(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(_) => Ok(Vec::new()),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.notes().await,
        }
    }

    /// The findings as text.
    pub(super) async fn verify(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(store) => store.verify().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.verify().await,
        }
    }
}

/// The database for people, without a password.
pub(super) fn shown(kept: &Kept) -> Result<String, CliError> {
    match &kept.place {
        Place::Sqlite(path) => Ok(path.display().to_string()),
        #[cfg(feature = "postgres")]
        Place::Postgres(url) => postgres::shown(url),
        place => Err(no_database(place)),
    }
}

/// Reads the version of the schema.
pub(super) async fn schema(kept: &Kept) -> Result<SchemaVersion, CliError> {
    match &kept.place {
        Place::Sqlite(path) => sqlite::schema(path).await,
        #[cfg(feature = "postgres")]
        Place::Postgres(url) => postgres::schema(url).await,
        place => Err(no_database(place)),
    }
}

/// Migrates the database to the schema of this release, and returns the version before.
pub(super) async fn migrate(kept: &Kept) -> Result<SchemaVersion, CliError> {
    match &kept.place {
        Place::Sqlite(path) => sqlite::migrate(path).await,
        #[cfg(feature = "postgres")]
        Place::Postgres(url) => postgres::migrate(url).await,
        place => Err(no_database(place)),
    }
}

/// Why nothing can be done here.
pub(super) fn no_database(place: &Place) -> CliError {
    match place {
        Place::Postgres(_) => CliError::usage("PostgreSQL is not built into this nuncio"),
        _ => CliError::usage("tasks in memory are in no database")
            .with_hint("say which one with --store sqlite:PATH or --store postgres://USER@HOST/DATABASE"),
    }
}
