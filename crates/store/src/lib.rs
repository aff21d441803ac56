//! Keeps tasks in a database: SQLite for one process without a server, PostgreSQL for as many nodes as share it.
//!
//! [`SqliteStore`] and [`PostgresStore`] are the engine's [`TaskStore`](nuncio_engine::TaskStore). Writes of everybody
//! who writes at the same time go into one transaction; reads have connections of their own and never wait for it.
//!
//! - `append`, `body`, `columns`: what both have in common: a commit written out, tasks and records as JSON, and how
//!   the model stands in columns.

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
