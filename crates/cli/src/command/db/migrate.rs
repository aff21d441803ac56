//! `nuncio db migrate`: migrates a database to the schema of this release, as `serve` does.

use clap::Args;
use serde_json::json;

use super::{StoreArgs, database};
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
    let before = if args.dry_run { database::schema(&kept).await? } else { database::migrate(&kept).await? };
    let shown = database::shown(&kept)?;
    let is_due = before.found < before.known;
    let (from, to) = (before.found, before.known);
    let document = json!({
        "database": shown, "from": from, "to": to, "migrated": is_due && !args.dry_run,
    });
    context.output.document(&document, |text| {
        text.field("Database", &shown);
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
