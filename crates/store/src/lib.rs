//! Keeps tasks in SQLite: one file, one process, no server.
//!
//! [`SqliteStore`] is the engine's [`TaskStore`](nuncio_engine::TaskStore). Writes of everybody who writes at the same
//! time go into one transaction on one thread; reads have connections of their own and never wait for it.

mod sqlite;

pub use sqlite::{BackupError, OpenError, SchemaVersion, SqliteOptions, SqliteStore, Synchronous};
