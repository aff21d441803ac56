//! `nuncio db backup`: copies a database, also while it is served.

use std::path::PathBuf;

use clap::Args;
use nuncio_store::{BackupError, SqliteStore};
use serde_json::json;

use super::{StoreArgs, database, sqlite::refused};
use crate::{command::serve::Place, context::Context, error::CliError};

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to write; it must not exist. To restore the backup, serve the file
    #[arg(value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) async fn run(context: &Context, args: &BackupArgs) -> Result<(), CliError> {
    let kept = args.store.kept(context, &[])?;
    let path = match &kept.place {
        Place::Sqlite(path) => path,
        #[cfg(feature = "postgres")]
        Place::Postgres(url) => return Err(super::postgres::backup(url, &args.to)),
        place => return Err(database::no_database(place)),
    };
    let bytes = SqliteStore::backup(path, &args.to).await.map_err(|error| match error {
        BackupError::Open(error) => refused(path, &error),
        error @ BackupError::Exists(_) => {
            let text = error.to_string();
            let (message, hint) = text.split_once("; ").unwrap_or((&text, "give another path"));
            CliError::usage(message).with_hint(hint)
        }
        error => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            CliError::internal(format!("{error}{cause}"))
        }
    })?;
    let document = json!({"database": path, "backup": args.to, "bytes": bytes});
    context.output.document(&document, |text| {
        text.field("Database", &path.display().to_string());
        text.field("Backup", &format!("{}, {bytes} bytes", args.to.display()));
    })
}
