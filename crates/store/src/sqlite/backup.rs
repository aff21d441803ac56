//! A copy of a database while it is served.
//!
//! SQLite writes the copy anew in one read transaction, so it is of one moment, has no free pages in which something
//! deleted might still be, and holds up no writes; the write-ahead log grows meanwhile. It comes into its place when it
//! is whole and on the disk.

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

/// Why there is no backup.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The database cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is something at the target.
    #[error("{path} is there already; a backup overwrites nothing, so give another path", path = .0.display())]
    Exists(PathBuf),
    /// The target cannot be written.
    #[error("the backup {path} cannot be written", path = .path.display())]
    Io {
        /// The target.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// SQLite cannot write the copy.
    #[error("the backup {path} cannot be written", path = .path.display())]
    Sqlite {
        /// The target.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
}

nuncio_model::debug_is_text!(BackupError);

impl SqliteStore {
    /// Copies the database at `from` to a new file, for its owner only, also while a process serves it: all that was
    /// acknowledged before this was called is in it. How many bytes it has.
    ///
    /// # Errors
    ///
    /// [`BackupError`] says what to do; nothing is at the target then that was not there before.
    pub async fn backup(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<u64, BackupError> {
        let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
        let copied = blocking(from, move |from| Ok(copy(from, &to)));
        copied.await?
    }

    /// Writes the database anew without free pages, so that it is as small as it can be and nothing deleted is left in
    /// it. Nobody else may have it open.
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

/// A file that is gone again unless it is finished.
struct Partial(PathBuf);

impl Partial {
    /// An empty one beside the target, for its owner only.
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

    /// Puts it on the disk and into its place, where nothing may have come meanwhile.
    fn finish(self, target: &Path) -> Result<u64, BackupError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(target.to_owned()),
            _ => BackupError::Io { path: target.to_owned(), source },
        };
        let file = File::open(&self.0).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        // Unlike a rename, a link never takes the place of another file.
        fs::hard_link(&self.0, target).map_err(failed)?;
        if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty())
            && let Ok(folder) = File::open(folder)
            && let Err(error) = folder.sync_all()
        {
            tracing::debug!(%error, "the folder of the backup was not synchronized");
        }
        Ok(bytes)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::debug!(%error, "what was written of a backup is left behind");
        }
    }
}
