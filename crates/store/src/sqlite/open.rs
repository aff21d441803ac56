//! Opens a database read-only, also while another process uses the database.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::{
    SqliteStore, append, cache::Cache, connection, error::OpenError, files::Files, lock, log::Log,
    options::SqliteOptions, queue::WriteQueue, readers::Readers, schema, short::ShortReads,
};

/// The schema of a database and the schema of this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The schema of the database; 0 if the database is empty.
    pub found: i64,
    /// The schema to which this release updates a database when it opens the database.
    pub known: i64,
}

impl SqliteStore {
    /// The schema of a database. Changes nothing. Another process can use the database meanwhile.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open), except `InUse`.
    pub async fn schema(path: impl AsRef<Path>) -> Result<SchemaVersion, OpenError> {
        let path = path.as_ref().to_owned();
        blocking(path, |path| {
            let (connection, found) = identified(path)?;
            drop(connection);
            Ok(SchemaVersion { found, known: schema::known() })
        })
        .await
    }

    /// Opens the database at this path read-only, also while another process uses the database. Writes fail as in a
    /// closed store. While another process has the database open, its running tasks are not
    /// [orphans](nuncio_engine::TaskStore::orphans).
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open), except `InUse`; and `Older` if the schema is not the current schema.
    pub async fn open_read_only(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        // This process does not learn of the commits of the other process.
        let log = Arc::new(Log::new(false));
        let heard = Arc::clone(&log);
        let (path, epoch, short_reads) = blocking(path, move |path| {
            let is_served = lock::is_held(path);
            let (connection, found) = identified(path)?;
            let known = schema::known();
            if found < known {
                return Err(OpenError::Older { path: path.to_owned(), found, known });
            }
            let openings = connection.query_row("SELECT openings FROM store", [], |row| row.get::<_, i64>(0));
            let openings = openings.map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
            let short_reads = ShortReads::open(path, &SqliteOptions::new(), heard)
                .map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
            Ok((path.to_owned(), openings.unsigned_abs() + u64::from(!is_served), short_reads))
        })
        .await?;
        // This store has no writer thread, so no thread receives the orders.
        let (orders, _) = mpsc::channel();
        Ok(Self {
            readers: Readers::new(path.clone(), &SqliteOptions::new()),
            short_reads,
            path,
            epoch,
            cache: Arc::new(Cache::new(0)),
            offload: append::offload(),
            queue: WriteQueue::start(1, orders.clone()),
            is_failing: Arc::default(),
            log,
            orders,
            thread: Mutex::default(),
            files: Files::default(),
        })
    }
}

/// Runs `work` with the real path of the database, on a thread that may wait for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> Result<T, OpenError> + Send + 'static,
) -> Result<T, OpenError> {
    let failed = path.clone();
    let done = tokio::task::spawn_blocking(move || {
        let real = fs::canonicalize(&path).map_err(|source| OpenError::Io { path, source })?;
        work(&real)
    });
    done.await.unwrap_or_else(|error| Err(OpenError::Io { path: failed, source: error.into() }))
}

/// Opens a connection to a database of Nuncio. Returns the connection and the number of its schema.
pub(super) fn identified(path: &Path) -> Result<(Connection, i64), OpenError> {
    let connection = connection::for_reading(path, &SqliteOptions::new())
        .map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
    let found = schema::identify(&connection, path)?;
    Ok((connection, found))
}
