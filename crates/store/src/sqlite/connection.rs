//! Opens connections and sets their options.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::options::{SqliteOptions, Synchronous};

/// The capacity of the cache of prepared statements, larger than the number of statements in this crate.
const STATEMENTS: usize = 64;

/// Opens the connection of the writer.
pub(super) fn for_writing(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = open(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        tracing::warn!(%mode, "store: cannot use a write-ahead log on this file system; writes are slower and block reads");
    }
    let synchronous = match options.synchronous {
        Synchronous::Normal => "normal",
        Synchronous::Full => "full",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Deleted data is overwritten. Without this option, the data stays in free pages.
    connection.pragma_update_and_check(None, "secure_delete", true, |row| row.get::<_, i64>(0))?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    Ok(connection)
}

/// Whether the database has a write-ahead log. With a log, readers do not block the writer.
pub(super) fn has_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0)).map(|mode| mode == "wal")
}

/// Opens a connection for reading.
pub(super) fn for_reading(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = open(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -8 * 1024)?;
    Ok(connection)
}

fn open(path: &Path, options: &SqliteOptions, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(options.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this option, SQLite plans a statement again for each bound value if a partial index could serve the
    // statement.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}
