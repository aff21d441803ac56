//! What can go wrong with a database, in the words of the seam.

use std::{io, path::PathBuf};

use nuncio_engine::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

pub(super) use crate::error::{closed, corrupt};

/// Why a database could not be opened.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process, or another store of this one, has it open.
    #[error(
        "the database {path} is in use by another process{holder}; stop that one, or give this one a database of its own",
        path = .path.display()
    )]
    InUse {
        /// The database.
        path: PathBuf,
        /// Who has it, where that is known: ` (process 123)`.
        holder: String,
    },
    /// The file, or the lock beside it, cannot be made or opened.
    #[error("the database {path} cannot be opened", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A later release has written it.
    #[error(
        "the database {path} has schema {found} and this release knows up to {known}; use the release that wrote it, or a later one",
        path = .path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The latest schema that is known here.
        known: i64,
    },
    /// An earlier release has written it, and it is to be read only.
    #[error(
        "the database {path} has schema {found} and this release reads schema {known}; bring it up with `nuncio db migrate`, or serve it once",
        path = .path.display()
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The schema that is known here.
        known: i64,
    },
    /// It is an SQLite database of something else.
    #[error("{path} is a database, but not one of Nuncio; give another path", path = .path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// SQLite cannot read or write it.
    #[error("the database {path} cannot be used", path = .path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// Why.
        #[source]
        source: Error,
    },
}

nuncio_model::debug_is_text!(OpenError);

/// An error of SQLite as one of the store.
pub(super) fn store_error(error: Error) -> StoreError {
    match kind(&error) {
        Kind::Full => StoreError::Full(error.into()),
        Kind::Corrupt => StoreError::Corrupt(error.into()),
        Kind::Unavailable => StoreError::Unavailable(error.into()),
    }
}

/// The same for each of many.
pub(super) fn same(error: &Error) -> StoreError {
    let text = error.to_string().into();
    match kind(error) {
        Kind::Full => StoreError::Full(text),
        Kind::Corrupt => StoreError::Corrupt(text),
        Kind::Unavailable => StoreError::Unavailable(text),
    }
}

/// Whether another program holds the database.
pub(super) fn is_busy(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

enum Kind {
    Full,
    Corrupt,
    Unavailable,
}

fn kind(error: &Error) -> Kind {
    let Error::SqliteFailure(failure, _) = error else {
        return match error {
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
            | Error::InvalidColumnType(..) => Kind::Corrupt,
            _ => Kind::Unavailable,
        };
    };
    match failure.code {
        // The shared-memory file of the log grows by writing to it, and a full disk shows as this.
        _ if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => Kind::Full,
        ErrorCode::DiskFull | ErrorCode::TooBig => Kind::Full,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch => Kind::Corrupt,
        _ => Kind::Unavailable,
    }
}
