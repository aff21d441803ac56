//! Allows one process at a time to use a database. While the database is open, a lock file beside the database and the
//! database file are both locked.
//!
//! The lock file contains the process id. The lock of the database file is still effective if the lock file is deleted.
//! It is a lock of the whole file (`flock`), so it does not interfere with the locks of SQLite or with processes that
//! only read.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::error::OpenError;

/// The lock. Dropping this guard, or any end of the process, releases the lock. The lock file remains.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
    database: Arc<File>,
}

impl Lock {
    /// The file of the database. Must be closed after all connections to the database: closing any file handle of the
    /// database releases the locks that SQLite holds in this process.
    pub(super) fn database(&self) -> Arc<File> {
        Arc::clone(&self.database)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = self.database.unlock() {
            tracing::debug!(%error, "store: cannot unlock the database; it stays locked until its file is closed");
        }
    }
}

/// Creates the database file, readable by its owner only, if the file does not exist. Returns the real path: a database
/// that is reachable by two names must have one lock.
pub(super) fn create(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    if let Ok(path) = fs::canonicalize(path) {
        return Ok(path);
    }
    private().append(true).open(path).map_err(failed)?;
    fs::canonicalize(path).map_err(failed)
}

/// Locks the database. The path must be the real path.
pub(super) fn acquire(path: &Path) -> Result<Lock, OpenError> {
    let name = file_of(path);
    let failed = |source| OpenError::Io { path: name.clone(), source };
    let mut file = private().read(true).write(true).truncate(false).open(&name).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::Error(source)) => return Err(failed(source)),
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            let is_known = file.read_to_string(&mut process).is_ok() && process.trim().parse::<u32>().is_ok();
            let holder = if is_known { format!(" (process {})", process.trim()) } else { String::new() };
            return Err(OpenError::InUse { path: path.to_owned(), holder });
        }
    }
    let database =
        private().append(true).open(path).map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    match database.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(OpenError::InUse { path: path.to_owned(), holder: String::new() });
        }
        // Some file systems do not support these locks.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%error, "store: cannot lock the database file; the lock file alone protects the database");
        }
    }
    // The process id is only information for the operator. The lock decides.
    let noted = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
    if let Err(error) = noted {
        tracing::debug!(%error, "store: cannot write the process id to the lock file");
    }
    Ok(Lock { _file: file, database: Arc::new(database) })
}

/// Whether a process has the database of this real path open. Changes nothing. Must be called before this process has a
/// connection to the database, because closing a file releases the locks of all connections to the database.
pub(super) fn is_held(path: &Path) -> bool {
    let is_locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    File::open(file_of(path)).is_ok_and(is_locked) || File::open(path).is_ok_and(is_locked)
}

fn file_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".lock");
    name.into()
}

/// Options that open a file, or create a file that only its owner can read.
pub(super) fn private() -> OpenOptions {
    let mut options = File::options();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
