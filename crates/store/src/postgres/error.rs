//! Converts errors of PostgreSQL to errors of the store.

use std::error::Error as _;

use nuncio_engine::StoreError;
use nuncio_model::error::with_causes;
use rustls::CertificateError;
use tokio_postgres::{
    Error,
    error::{DbError, Severity, SqlState},
};

/// The reason why a database could not be opened. The text contains no password.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The URL is not valid or names a file that cannot be used.
    #[error("the database's URL is not valid: {0}; write it as postgres://USER:PASSWORD@HOST/DATABASE?schema=nuncio")]
    Url(String),
    /// The database cannot be reached or rejects the user.
    #[error("the database {place} cannot be reached: {reason}")]
    Unreachable {
        /// The database, without the password.
        place: String,
        /// The reason as text.
        reason: String,
        /// The original error.
        #[source]
        source: Option<Error>,
    },
    /// A later release wrote the schema.
    #[error(
        "the database {place} has version {found} but this release supports at most {known}; use the release that wrote it, or a later release"
    )]
    Newer {
        /// The database and schema.
        place: String,
        /// The version of the schema.
        found: i64,
        /// The latest version that is known here.
        known: i64,
    },
    /// An earlier release wrote the schema.
    #[error("the database {place} has version {found} but this release requires {known}; run `nuncio db migrate`")]
    Older {
        /// The database and schema.
        place: String,
        /// The version of the schema.
        found: i64,
        /// The version of this release.
        known: i64,
    },
    /// The schema must be updated, but nodes of an earlier release run and cannot work with the updated schema.
    #[error("the database {place} is in use by nodes of an earlier release; stop all nodes, and start again")]
    InUse {
        /// The database and schema.
        place: String,
    },
    /// The schema does not exist.
    #[error(
        "there are no tasks at {place}; give the URL of the served store with --store, or create the schema with `nuncio db migrate`"
    )]
    Absent {
        /// The database and schema.
        place: String,
    },
    /// The schema contains tables of another program.
    #[error("{place} contains tables of another program; choose another schema with ?schema=NAME")]
    Foreign {
        /// The database and schema.
        place: String,
    },
    /// The encoding of the database cannot represent every text.
    #[error(
        "the database {place} has the encoding {encoding}; create a database with UTF8: createdb --encoding=UTF8 --template=template0"
    )]
    Encoding {
        /// The database.
        place: String,
        /// The encoding of the database.
        encoding: String,
    },
    /// The database refuses an operation that the store needs.
    #[error("the database {place} cannot be used: {reason}")]
    Unusable {
        /// The database.
        place: String,
        /// The reason as text.
        reason: String,
        /// The original error.
        #[source]
        source: Option<Error>,
    },
}

nuncio_model::debug_is_text!(PostgresError);

/// Converts an error of PostgreSQL.
pub(super) fn store_error(error: Error) -> StoreError {
    let code = error.code();
    if is_full(&error) {
        StoreError::Full(error.into())
    } else if code == Some(&SqlState::PROGRAM_LIMIT_EXCEEDED) {
        StoreError::TooLarge(error.into())
    } else if code == Some(&SqlState::DATA_CORRUPTED) || code == Some(&SqlState::INDEX_CORRUPTED) {
        StoreError::Corrupt(error.into())
    } else {
        StoreError::Unavailable(error.into())
    }
}

/// Whether the disk of the server is full.
pub(super) fn is_full(error: &Error) -> bool {
    error.code() == Some(&SqlState::DISK_FULL)
}

/// Whether the server has confirmed that it did nothing. All other errors, in particular the end of the connection,
/// leave the outcome unknown.
pub(super) fn is_refusal(error: &Error) -> bool {
    error.as_db_error().is_some_and(|error| error.parsed_severity() == Some(Severity::Error))
}

/// Whether a commit was refused because one of its messages is a duplicate.
pub(super) fn is_duplicate(error: &Error) -> bool {
    let is_time = |error: &DbError| error.table() == Some("messages") && error.column() == Some("at");
    error.code() == Some(&SqlState::NOT_NULL_VIOLATION) && error.as_db_error().is_some_and(is_time)
}

/// Whether a write was sent to a read-only server, for example a standby.
pub(super) fn is_read_only(error: &Error) -> bool {
    error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

pub(super) fn unavailable(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unavailable(reason.into())
}

/// The error as text: the message of the server, or the error with its causes.
pub(super) fn explain(error: &Error) -> String {
    error.as_db_error().map_or_else(|| with_causes(error), |error| error.message().to_owned())
}

/// The hint for a connection that failed because of TLS, or because TLS is missing.
pub(super) fn advice_on_tls(error: &Error, is_without: bool) -> Option<&'static str> {
    if let Some(refusal) = error.as_db_error() {
        // The server reports this if it has only a `hostssl` line for the client.
        let is_about_encryption = refusal.message().ends_with("no encryption");
        return (is_without && is_about_encryption).then_some(
            "the server may require TLS: use sslmode=verify-full, or sslmode=require to accept any certificate",
        );
    }
    let cause = error.source()?;
    let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inner.and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => Some("use the host name in the server's certificate, or sslmode=verify-ca to accept any name"),
        Some(rustls::Error::InvalidCertificate(_)) => Some(
            "name the file of the trusted certificates with sslrootcert=FILE, or use sslmode=require to accept any certificate",
        ),
        _ if cause.to_string() == "server does not support TLS" => {
            Some("turn on `ssl` in the server, or use sslmode=prefer to connect without TLS")
        }
        _ => None,
    }
}
