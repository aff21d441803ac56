//! Opening a database for reading alone, which may be done while another process serves it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::{
    SqliteStore, append, cache::Cache, connection, error::OpenError, files::Files, lock, log::Log,
    options::SqliteOptions, queue::Queue, readers::Readers, schema, short::ShortReads,
};

/// The schema of a database, and the one of this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The database's; 0 where it is empty.
    pub found: i64,
    /// What this release brings a database to when it opens it.
    pub known: i64,
}

impl SqliteStore {
    /// Which schema a database has. Changes nothing, and may be asked while another process serves it.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open), but for `InUse`.
    pub async fn schema(path: impl AsRef<Path>) -> Result<SchemaVersion, OpenError> {
        let path = path.as_ref().to_owned();
        blocking(path, |path| {
            let (connection, found) = identified(path)?;
            drop(connection);
            Ok(SchemaVersion { found, known: schema::known() })
        })
        .await
    }

    /// Opens the database at this path for reading alone, also while another process serves it: writes fail as those of
    /// a store that is closed. A task that runs is nobody's [orphan](nuncio_engine::TaskStore::orphans) while another
    /// process has the database.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open), but for `InUse`; and `Older` where the schema is not the present one.
    pub async fn open_read_only(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        // What the other process commits is not heard of here.
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
        // Nobody listens there.
        let (orders, _) = mpsc::channel();
        Ok(Self {
            readers: Readers::new(path.clone(), &SqliteOptions::new()),
            short_reads,
            path,
            epoch,
            cache: Arc::new(Cache::new(0)),
            offload: append::offload(),
            queue: Queue::start(1, orders.clone()),
            is_failing: Arc::default(),
            log,
            orders,
            thread: Mutex::default(),
            files: Files::default(),
        })
    }
}

/// Does something with the database's real path that may wait for the disk.
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

/// A connection to a database of ours, and its schema.
pub(super) fn identified(path: &Path) -> Result<(Connection, i64), OpenError> {
    let connection = connection::for_reading(path, &SqliteOptions::new())
        .map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
    let found = schema::identify(&connection, path)?;
    Ok((connection, found))
}
