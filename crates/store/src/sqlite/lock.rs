//! One process at a time: a file beside the database that is locked while it is open.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use super::error::OpenError;

/// The lock. Dropping it, or the end of the process by whatever cause, lets go of it. The file stays.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// Makes the database's file if there is none, for its owner only, and gives its real path: one that is reached by two
/// names must have one lock.
pub(super) fn create(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
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
    // Who has it is for people; that it is locked counts.
    let noted = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
    if let Err(error) = noted {
        tracing::debug!(%error, "the lock file does not say who holds it");
    }
    Ok(Lock { _file: file })
}

/// Whether somebody has the database of this real path open. Changes nothing.
pub(super) fn is_held(path: &Path) -> bool {
    let file = File::open(file_of(path));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
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
