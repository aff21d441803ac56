//! `nuncio db`: looks after the database that tasks are kept in.
//!
//! What only reads (`check`, `export`, `backup`, `migrate --dry-run`) may be done while a server has the database; what
//! writes (`migrate`, `gc`, `delete`) needs the database for itself, as the server has the newest in memory.

mod backup;
mod check;
mod delete;
mod export;
mod gc;
mod migrate;
mod select;

use std::{collections::BTreeMap, process::ExitCode};

use clap::{Args, Subcommand};
use nuncio_engine::StoreError;
use nuncio_store::{OpenError, SqliteOptions, SqliteStore};

use super::serve::{self, Kept};
use crate::{
    context::Context,
    error::{CliError, Code},
};

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Bring a database to the schema of this release
    Migrate(migrate::MigrateArgs),
    /// Look whether a database is whole; exits with 1 where it is not
    Check(check::CheckArgs),
    /// Delete what is older than it is kept, and drop logs, once
    Gc(gc::GcArgs),
    /// Write tasks as JSON, one a line
    Export(export::ExportArgs),
    /// Copy a database, also while it is served
    Backup(backup::BackupArgs),
    /// Delete all of a tenant, a caller, a context, or a task, for good
    Delete(delete::DeleteArgs),
}

/// Which database.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where tasks are kept: sqlite:PATH [default: as `nuncio serve` has it, sqlite:./nuncio.db]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
}

impl StoreArgs {
    /// The settings of `nuncio serve`, with these flags of ours in the place of its own.
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

/// Opens the database of these settings for reading; a server may have it.
async fn reading(kept: &Kept) -> Result<SqliteStore, CliError> {
    SqliteStore::open_read_only(&kept.database).await.map_err(|error| refused(kept, &error))
}

/// Opens the database of these settings for writing; nobody else may have it. It must be there.
async fn writing(kept: &Kept) -> Result<SqliteStore, CliError> {
    SqliteStore::schema(&kept.database).await.map_err(|error| refused(kept, &error))?;
    // Logs go by the settings that were given, and not while something else is done.
    let options = SqliteOptions::new().with_log_retention(std::time::Duration::MAX);
    SqliteStore::open(&kept.database, options).await.map_err(|error| refused(kept, &error))
}

fn refused(kept: &Kept, error: &OpenError) -> CliError {
    match error {
        OpenError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            CliError::new(Code::Usage, format!("there is no database at {}", kept.database.display()))
                .with_hint("say where it is with --store sqlite:PATH")
        }
        OpenError::InUse { .. } => serve::explain(error).with_hint(
            "stop that one first: this command writes; `nuncio db backup`, `check` and `export` need not wait",
        ),
        error => serve::explain(error),
    }
}

/// A failure of the store.
fn failed(error: &StoreError) -> CliError {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    CliError::internal(text)
}
