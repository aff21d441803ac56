//! One process at a time: a file beside the database is locked while the database is open, and the database itself.
//!
//! The file beside it names the process. The lock of the database holds where somebody deletes that file. It is a lock
//! of the whole file (`flock`), which the locks of SQLite and processes that only read know nothing of.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::error::OpenError;

/// The lock. Dropping it, or the end of the process by whatever cause, lets go of it. The file stays.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
    database: Arc<File>,
}

impl Lock {
    /// The file of the database. It must be closed after all connections to it: the end of any of its files ends the
    /// locks that SQLite has there.
    pub(super) fn database(&self) -> Arc<File> {
        Arc::clone(&self.database)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = self.database.unlock() {
            tracing::debug!(%error, "the database stays locked until its file is closed");
        }
    }
}

/// Makes the database's file if there is none, for its owner only, and gives its real path: one that is reached by two
/// names must have one lock.
pub(super) fn create(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    if let Ok(path) = fs::canonicalize(path) {
        return Ok(path);
    }
    private().append(true).open(path).map_err(failed)?;
    fs::canonicalize(path).map_err(failed)
}

/// Locks the database of this real path.
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
        // Some file systems have no such locks.
        Err(TryLockError::Error(error)) => tracing::debug!(%error, "the file of the database cannot be locked itself"),
    }
    // Who has it is for people; that it is locked counts.
    let noted = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
    if let Err(error) = noted {
        tracing::debug!(%error, "the lock file does not say who holds it");
    }
    Ok(Lock { _file: file, database: Arc::new(database) })
}

/// Whether somebody has the database of this real path open. Changes nothing. To be asked before this process has a
/// connection to the database, as the end of a file ends the locks of all connections to it.
pub(super) fn is_held(path: &Path) -> bool {
    let is_locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    File::open(file_of(path)).is_ok_and(is_locked) || File::open(path).is_ok_and(is_locked)
}

fn file_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".lock");
    name.into()
}

/// Opens files, and makes those that are not there readable by their owner only.
pub(super) fn private() -> OpenOptions {
    let mut options = File::options();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
