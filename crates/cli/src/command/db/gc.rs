//! `nuncio db gc`: deletes tasks and drops logs after their retention, once.

use clap::Args;
use nuncio_store::SqliteStore;
use serde_json::json;

use super::{
    StoreArgs,
    database::{self, Database},
    failed,
    sqlite::refused,
};
use crate::{command::serve::Place, context::Context, error::CliError};

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// How long tasks are kept, as for `nuncio serve`: completed=30d or TENANT/failed=1y; repeatable
    #[arg(long, value_name = "RULE")]
    retention: Vec<String>,
    /// How long the events of a task that has ended or waits are kept
    #[arg(long, value_name = "DURATION")]
    log_retention: Option<String>,
    /// Rewrite the database file to its smallest size; SQLite only
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
    let path = match &kept.place {
        Place::Sqlite(path) => Some(path),
        _ if args.vacuum => {
            return Err(CliError::usage("--vacuum is for SQLite")
                .with_hint("PostgreSQL does so by itself; its VACUUM FULL writes a table anew"));
        }
        _ => None,
    };
    let size = || path.map(|path| std::fs::metadata(path).map_or(0, |file| file.len()));
    let opened = Database::writing(&kept).await?;
    let before = size();
    let swept = house.sweep(opened.store()).await.map_err(|error| failed(&error))?;
    opened.store().close().await.map_err(|error| failed(&error))?;
    drop(opened);
    if let Some(path) = path.filter(|_| args.vacuum) {
        SqliteStore::vacuum(path).await.map_err(|error| refused(path, &error))?;
    }
    let (after, shown) = (size(), database::shown(&kept)?);
    let mut document = json!({"database": shown, "retention": kept.rules, "tasks": swept.tasks, "logs": swept.logs});
    if let (Some(before), Some(after)) = (before, after) {
        document["bytes"] = after.into();
        document["bytesBefore"] = before.into();
    }
    context.output.document(&document, |text| {
        text.field_if("Retention", Some(&kept.rules.join(", ")));
        text.field("Deleted", &format!("{} tasks, and the logs of {}", swept.tasks, swept.logs));
        let sizes = before.zip(after).map(|(before, after)| format!(", {after} bytes, {before} before"));
        text.field("Database", &format!("{shown}{}", sizes.unwrap_or_default()));
    })
}
