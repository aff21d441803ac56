//! Converts errors of SQLite to errors of the store.

use std::{io, path::PathBuf};

use nuncio_engine::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

pub(super) use crate::error::{closed, corrupt};

/// The reason why a database could not be opened.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process, or another store in this process, has the database open.
    #[error(
        "the database {path} is in use by another process{holder}; stop that process, or use another database",
        path = .path.display()
    )]
    InUse {
        /// The database.
        path: PathBuf,
        /// The process that has the database open, as ` (process 123)`; empty if the process is unknown.
        holder: String,
    },
    /// The database file, or the lock file beside it, cannot be created or opened.
    #[error("the database {path} cannot be opened", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A later release wrote the database.
    #[error(
        "the database {path} has schema {found} but this release supports at most {known}; use the release that wrote it, or a later release",
        path = .path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// The schema of the database.
        found: i64,
        /// The latest schema that this release knows.
        known: i64,
    },
    /// An earlier release wrote the database, and the database must be opened read-only.
    #[error(
        "the database {path} has schema {found} but this release reads schema {known}; run `nuncio db migrate`, or `nuncio serve` once",
        path = .path.display()
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// The schema of the database.
        found: i64,
        /// The schema of this release.
        known: i64,
    },
    /// The file is an SQLite database of another program.
    #[error("{path} is a database of another program; choose another path", path = .path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
    },
    /// SQLite cannot read or write the database.
    #[error("the database {path} cannot be used", path = .path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Error,
    },
}

nuncio_model::debug_is_text!(OpenError);

/// Converts an error of SQLite.
pub(super) fn store_error(error: Error) -> StoreError {
    match class(&error) {
        ErrorClass::Full => StoreError::Full(error.into()),
        ErrorClass::TooLarge => StoreError::TooLarge(error.into()),
        ErrorClass::Corrupt => StoreError::Corrupt(error.into()),
        ErrorClass::Unavailable => StoreError::Unavailable(error.into()),
    }
}

/// Converts an error that several writes share. The error is copied as text.
pub(super) fn same(error: &Error) -> StoreError {
    let text = error.to_string().into();
    match class(error) {
        ErrorClass::Full => StoreError::Full(text),
        ErrorClass::TooLarge => StoreError::TooLarge(text),
        ErrorClass::Corrupt => StoreError::Corrupt(text),
        ErrorClass::Unavailable => StoreError::Unavailable(text),
    }
}

/// Whether another program has locked the database.
pub(super) fn is_busy(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

enum ErrorClass {
    Full,
    TooLarge,
    Corrupt,
    Unavailable,
}

fn class(error: &Error) -> ErrorClass {
    let Error::SqliteFailure(failure, _) = error else {
        return match error {
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
            | Error::InvalidColumnType(..) => ErrorClass::Corrupt,
            _ => ErrorClass::Unavailable,
        };
    };
    match failure.code {
        // The shared-memory file of the log grows by writing to it, and a full disk shows as this.
        _ if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => ErrorClass::Full,
        ErrorCode::DiskFull => ErrorClass::Full,
        ErrorCode::TooBig => ErrorClass::TooLarge,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch => ErrorClass::Corrupt,
        _ => ErrorClass::Unavailable,
    }
}
