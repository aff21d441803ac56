//! Copies a database while a process uses it.
//!
//! SQLite writes the copy in one read transaction. Therefore the copy shows one moment, contains no free pages with
//! deleted data, and does not block writes. The write-ahead log grows during the copy. The copy gets its final name
//! when it is complete and on the disk.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use super::{
    SqliteStore,
    error::OpenError,
    lock,
    open::{blocking, identified},
};

/// The reason why a backup failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The database cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The target exists already.
    #[error("{path} already exists and a backup does not overwrite files; choose another path", path = .0.display())]
    Exists(PathBuf),
    /// The target cannot be written.
    #[error("the backup {path} cannot be written", path = .path.display())]
    Io {
        /// The target.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// SQLite cannot write the copy.
    #[error("the backup {path} cannot be written", path = .path.display())]
    Sqlite {
        /// The target.
        path: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
}

nuncio_model::debug_is_text!(BackupError);

impl SqliteStore {
    /// Copies the database at `from` to a new file that only its owner can read. A process can use the database
    /// meanwhile. The copy contains all writes that were acknowledged before the call. Returns the size of the copy in
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`BackupError`] contains a hint for the operator. After an error, the call leaves no new file at the target.
    pub async fn backup(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<u64, BackupError> {
        let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
        let copied = blocking(from, move |from| Ok(copy(from, &to)));
        copied.await?
    }

    /// Rewrites the database without free pages. The file gets its minimum size and contains no deleted data. No other
    /// process may have the database open.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub async fn vacuum(path: impl AsRef<Path>) -> Result<(), OpenError> {
        blocking(path.as_ref().to_owned(), |path| {
            let _lock = lock::acquire(path)?;
            identified(path)?;
            let vacuumed =
                open(path).and_then(|connection| connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"));
            vacuumed.map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })
        })
        .await
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

fn copy(from: &Path, to: &Path) -> Result<u64, BackupError> {
    identified(from)?;
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let partial = Partial::new(to)?;
    let source = open(from).map_err(|source| BackupError::Sqlite { path: to.to_owned(), source })?;
    let target = partial.0.to_string_lossy();
    source
        .execute("VACUUM INTO ?1", [&target])
        .map_err(|source| BackupError::Sqlite { path: to.to_owned(), source })?;
    partial.finish(to)
}

/// A file that is deleted when this guard is dropped. [`finish`](Self::finish) links the file to its final name before.
struct Partial(PathBuf);

impl Partial {
    /// Creates an empty file beside the target, readable by its owner only.
    fn new(target: &Path) -> Result<Self, BackupError> {
        let failed = |source| BackupError::Io { path: target.to_owned(), source };
        let name = target.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
        let mut partial = std::ffi::OsString::from(".");
        partial.push(name);
        partial.push(format!(".{}.partial", std::process::id()));
        let partial = target.with_file_name(partial);
        lock::private().write(true).create_new(true).open(&partial).map_err(failed)?;
        Ok(Self(partial))
    }

    /// Flushes the file to the disk and links it to the target. Fails if a file was created at the target meanwhile.
    fn finish(self, target: &Path) -> Result<u64, BackupError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(target.to_owned()),
            _ => BackupError::Io { path: target.to_owned(), source },
        };
        let file = File::open(&self.0).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        // Unlike a rename, a hard link never replaces an existing file.
        fs::hard_link(&self.0, target).map_err(failed)?;
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty())
            && let Ok(folder) = File::open(folder)
            && let Err(error) = folder.sync_all()
        {
            tracing::debug!(%error, "store: cannot synchronize the folder of the backup");
        }
        Ok(bytes)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::debug!(%error, "store: cannot delete the temporary file of a backup; the file remains");
        }
    }
}
