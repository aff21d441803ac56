//! `nuncio db`: maintains the database of tasks.
//!
//! In SQLite, commands that read (`check`, `export`, `backup`, `migrate --dry-run`) run beside a server. Commands
//! that write (`migrate`, `gc`, `delete`) need exclusive access, because the server has the newest state in memory.
//! In PostgreSQL all commands run beside the nodes.

mod backup;
mod check;
mod database;
mod delete;
mod export;
mod gc;
mod migrate;
#[cfg(feature = "postgres")]
mod postgres;
mod select;
mod sqlite;

use std::{collections::BTreeMap, process::ExitCode};

use clap::{Args, Subcommand};
use nuncio_engine::StoreError;
use nuncio_model::error::with_causes;

use super::serve::{self, Kept};
use crate::{context::Context, error::CliError};

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Bring a database to the schema of this release
    Migrate(migrate::MigrateArgs),
    /// Check a database; exits with 1 if there is a finding
    Check(check::CheckArgs),
    /// Delete tasks and logs that are older than the retention, once
    Gc(gc::GcArgs),
    /// Write tasks as JSON, one a line
    Export(export::ExportArgs),
    /// Copy a database; a server may use the database at the same time
    Backup(backup::BackupArgs),
    /// Delete all of a tenant, a caller, a context, or a task, for good
    Delete(delete::DeleteArgs),
}

/// Which database.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where tasks are kept: sqlite:PATH or postgres://USER@HOST/DATABASE [default: as `nuncio serve` has it,
    /// sqlite:./nuncio.db]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
}

impl StoreArgs {
    /// The settings of `nuncio serve`, with the flags of this command in place of the flags of `serve`.
    fn kept(&self, context: &Context, own: &[(&'static str, &[String])]) -> Result<Kept, CliError> {
        let mut given: BTreeMap<&'static str, Vec<String>> = own
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| (*name, values.to_vec()))
            .collect();
        if let Some(store) = &self.store {
            given.insert("store", vec![store.clone()]);
        }
        serve::kept(context, given)
    }
}

pub(crate) async fn run(context: &Context, command: &DbCommand) -> Result<ExitCode, CliError> {
    match command {
        DbCommand::Migrate(args) => migrate::run(context, args).await?,
        DbCommand::Check(args) => return check::run(context, args).await,
        DbCommand::Gc(args) => gc::run(context, args).await?,
        DbCommand::Export(args) => export::run(context, args).await?,
        DbCommand::Backup(args) => backup::run(context, args).await?,
        DbCommand::Delete(args) => delete::run(context, args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A failure of the store.
fn failed(error: &StoreError) -> CliError {
    let failure = CliError::internal(with_causes(error));
    match error {
        StoreError::Corrupt(_) => failure.with_hint("`nuncio db check` says what is damaged, and what to do"),
        _ => failure,
    }
}
