//! `nuncio db gc`: deletes what is older than it is kept, and drops logs, once.

use clap::Args;
use nuncio_engine::TaskStore as _;
use nuncio_store::SqliteStore;
use serde_json::json;

use super::{StoreArgs, failed, refused, writing};
use crate::{context::Context, error::CliError};

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// How long tasks are kept, as for `nuncio serve`: completed=30d or TENANT/failed=1y; repeatable
    #[arg(long, value_name = "RULE")]
    retention: Vec<String>,
    /// How long the events of a task that has ended or waits are kept
    #[arg(long, value_name = "DURATION")]
    log_retention: Option<String>,
    /// Write the database anew, too, so that it is as small as it can be
    #[arg(long)]
    vacuum: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) async fn run(context: &Context, args: &GcArgs) -> Result<(), CliError> {
    let own = [("retention", &*args.retention), ("log-retention", args.log_retention.as_slice())];
    let kept = args.store.kept(context, &own)?;
    let mut house = kept.housekeeping.clone();
    house.interrupted_expiry = None;
    if house.is_idle() && !args.vacuum {
        return Err(CliError::usage("nothing is said about how long tasks are kept, so nothing is to be done")
            .with_hint("say --retention 30d, --log-retention 10m, or --vacuum"));
    }
    let size = || std::fs::metadata(&kept.database).map_or(0, |file| file.len());
    let store = writing(&kept).await?;
    let before = size();
    let swept = house.sweep(&store).await.map_err(|error| failed(&error))?;
    store.close().await.map_err(|error| failed(&error))?;
    drop(store);
    if args.vacuum {
        SqliteStore::vacuum(&kept.database).await.map_err(|error| refused(&kept, &error))?;
    }
    let after = size();
    let document = json!({"database": kept.database, "tasks": swept.tasks, "logs": swept.logs, "bytes": after, "bytesBefore": before});
    context.output.document(&document, |text| {
        text.field("Deleted", &format!("{} tasks, and the logs of {}", swept.tasks, swept.logs));
        text.field("Database", &format!("{}, {after} bytes, {before} before", kept.database.display()));
    })
}
