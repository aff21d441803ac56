//! What can go wrong with a database, in the words of the seam.

use std::error::Error as _;

use nuncio_engine::StoreError;
use nuncio_model::error::with_causes;
use rustls::CertificateError;
use tokio_postgres::{
    Error,
    error::{DbError, Severity, SqlState},
};

/// Why a database could not be opened. What it says has no password in it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The URL is not one, or asks for what is not there.
    #[error("the database's URL is not valid: {0}; write it as postgres://USER:PASSWORD@HOST/DATABASE?schema=nuncio")]
    Url(String),
    /// It cannot be reached, or does not let this user in.
    #[error("the database {place} cannot be reached: {reason}")]
    Unreachable {
        /// The database, without the password.
        place: String,
        /// Why.
        reason: String,
        /// Why, as it was told.
        #[source]
        source: Option<Error>,
    },
    /// A later release has written it.
    #[error(
        "the database {place} has version {found} and this release knows up to {known}; use the release that wrote it, or a later one"
    )]
    Newer {
        /// The database and schema.
        place: String,
        /// Its version.
        found: i64,
        /// The latest version that is known here.
        known: i64,
    },
    /// An earlier release has written it.
    #[error("the database {place} has version {found} and this release has {known}; run `nuncio db migrate`")]
    Older {
        /// The database and schema.
        place: String,
        /// Its version.
        found: i64,
        /// The version of this release.
        known: i64,
    },
    /// There is nothing of Nuncio in it.
    #[error(
        "there are no tasks at {place}; name the store that is served with --store, or make it with `nuncio db migrate`"
    )]
    Absent {
        /// The database and schema.
        place: String,
    },
    /// The schema has tables of something else.
    #[error("{place} has tables, but not those of Nuncio; name another schema: ?schema=NAME")]
    Foreign {
        /// The database and schema.
        place: String,
    },
    /// Its encoding cannot hold every text.
    #[error(
        "the database {place} has the encoding {encoding}; make one with UTF8: createdb --encoding=UTF8 --template=template0"
    )]
    Encoding {
        /// The database.
        place: String,
        /// Its encoding.
        encoding: String,
    },
    /// It refuses what a store needs.
    #[error("the database {place} cannot be used: {reason}")]
    Unusable {
        /// The database.
        place: String,
        /// Why.
        reason: String,
        /// Why, as it was told.
        #[source]
        source: Option<Error>,
    },
}

nuncio_model::debug_is_text!(PostgresError);

/// An error of PostgreSQL as one of the store.
pub(super) fn store_error(error: Error) -> StoreError {
    let code = error.code();
    if is_full(&error) {
        StoreError::Full(error.into())
    } else if code == Some(&SqlState::DATA_CORRUPTED) || code == Some(&SqlState::INDEX_CORRUPTED) {
        StoreError::Corrupt(error.into())
    } else {
        StoreError::Unavailable(error.into())
    }
}

/// Whether the server has no room.
pub(super) fn is_full(error: &Error) -> bool {
    error.code() == Some(&SqlState::DISK_FULL)
}

/// Whether the server has said that it did nothing. Everything else, an end of the connection above all, says nothing
/// of what was done.
pub(super) fn is_refusal(error: &Error) -> bool {
    error.as_db_error().is_some_and(|error| error.parsed_severity() == Some(Severity::Error))
}

/// Whether a commit was refused because a message that it was to remember is known already.
pub(super) fn is_repetition(error: &Error) -> bool {
    let is_time = |error: &DbError| error.table() == Some("messages") && error.column() == Some("at");
    error.code() == Some(&SqlState::NOT_NULL_VIOLATION) && error.as_db_error().is_some_and(is_time)
}

/// Whether a server that can only be read, one that follows another, was asked to write.
pub(super) fn is_read_only(error: &Error) -> bool {
    error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

pub(super) fn unavailable(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unavailable(reason.into())
}

/// The error as text: the message of the server, or the error with its causes.
pub(super) fn explain(error: &Error) -> String {
    error.as_db_error().map_or_else(|| with_causes(error), |told| told.message().to_owned())
}

/// What to do about a connection that failed for TLS, or for want of it.
pub(super) fn advice_on_tls(error: &Error, is_without: bool) -> Option<&'static str> {
    if let Some(told) = error.as_db_error() {
        // What `hostssl` without a line for others comes to.
        let is_about_encryption = told.message().ends_with("no encryption");
        return (is_without && is_about_encryption)
            .then_some("it may want TLS: say sslmode=verify-full, or require for any certificate");
    }
    let cause = error.source()?;
    let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inner.and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => Some("name the host as its certificate does, or say sslmode=verify-ca to take any name"),
        Some(rustls::Error::InvalidCertificate(_)) => {
            Some("name who signed its certificate with sslrootcert=FILE, or say sslmode=require to take any")
        }
        _ if cause.to_string() == "server does not support TLS" => {
            Some("turn on `ssl` in the server, or say sslmode=prefer to do without")
        }
        _ => None,
    }
}
