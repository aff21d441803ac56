//! Checks whether the files of an open database still exist.

use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use nuncio_engine::StoreError;

/// The files of a database, each with its identity. The identity distinguishes a file from a later file of the same
/// name. Empty for a store that only reads.
#[derive(Debug, Default)]
pub(super) struct Files {
    known: Arc<[(PathBuf, Identity)]>,
    /// Must be closed after all connections, see [`Lock::database`](super::lock::Lock::database).
    _database: Option<Arc<File>>,
}

/// The device number and the inode number of a file.
type Identity = (u64, u64);

impl Files {
    /// The files that exist now: the database, its log and the index of the log.
    pub(super) fn of(path: &Path, database: Arc<File>) -> Self {
        let named = ["", "-wal", "-shm"].into_iter().map(|end| {
            let mut name = OsString::from(path);
            name.push(end);
            PathBuf::from(name)
        });
        let known = named.filter_map(|path| identity(&path).map(|identity| (path, identity)));
        Self { known: known.collect(), _database: Some(database) }
    }

    /// Returns a check that another thread can run. The check fails if a file was deleted or replaced. In this case,
    /// the next start does not find what the store writes.
    pub(super) fn check(&self) -> impl FnOnce() -> Result<(), StoreError> + Send + 'static {
        let known = Arc::clone(&self.known);
        move || match known.iter().find(|(path, known)| identity(path) != Some(*known)) {
            None => Ok(()),
            Some((path, _)) => {
                let path = path.display();
                tracing::error!(%path, "store: a file of the database was deleted or replaced; tasks are lost when the process ends");
                Err(StoreError::Unavailable(format!("{path} was deleted or replaced").into()))
            }
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|_| (0, 0))
}
