//! Stores tasks in a database: SQLite for one process without a database server, PostgreSQL for any number of nodes
//! that share a database.
//!
//! [`SqliteStore`] and [`PostgresStore`] implement the engine's [`TaskStore`](nuncio_engine::TaskStore). Writes of
//! several callers that arrive at the same time are combined in one transaction. Reads use separate connections and
//! never wait for a write.
//!
//! - `append`, `body`, `columns`: used by both stores: serialized commits, the JSON of tasks and records, and the
//!   representation of model types in columns.

mod append;
mod body;
mod columns;
mod error;
mod owners;
#[cfg(feature = "postgres")]
pub mod postgres;
mod sqlite;

pub use owners::{Owner, Which};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresBroker, PostgresError, PostgresOptions, PostgresStore};
pub use sqlite::{BackupError, OpenError, SchemaVersion, SqliteOptions, SqliteStore, Synchronous};
