//! `nuncio db migrate`: brings a database to the schema of this release, as serving it does.

use clap::Args;
use nuncio_engine::TaskStore as _;
use nuncio_store::SqliteStore;
use serde_json::json;

use super::{StoreArgs, failed, refused, writing};
use crate::{context::Context, error::CliError};

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) async fn run(context: &Context, args: &MigrateArgs) -> Result<(), CliError> {
    let kept = args.store.kept(context, &[])?;
    let before = SqliteStore::schema(&kept.database).await.map_err(|error| refused(&kept, &error))?;
    let is_due = before.found < before.known;
    if is_due && !args.dry_run {
        writing(&kept).await?.close().await.map_err(|error| failed(&error))?;
    }
    let (from, to) = (before.found, before.known);
    let document = json!({
        "database": kept.database, "from": from, "to": to, "migrated": is_due && !args.dry_run,
    });
    context.output.document(&document, |text| {
        text.field("Database", &kept.database.display().to_string());
        text.field(
            "Schema",
            &match (is_due, args.dry_run) {
                (false, _) => format!("{from}, as it should be"),
                (true, true) => format!("{from}, and would be brought to {to}"),
                (true, false) => format!("brought from {from} to {to}"),
            },
        );
    })
}
