//! `nuncio db export`: tasks as JSON lines. Each line has the task in the form of 1.0, its owner and its webhooks.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use nuncio_engine::store::{PushConfig, Scanned};
use nuncio_model::{TaskState, Timestamp};
use serde_json::{Value, json};

use super::{
    StoreArgs,
    database::Database,
    failed,
    select::{Scan, Whose, scope_json},
};
use crate::{command::task_list::state, context::Context, diag, error::CliError, output};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    whose: Whose,
    /// Only tasks in this state; repeatable
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Vec<TaskState>,
    /// Only tasks whose status is of this time or later, for example 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Write the tokens and credentials of webhooks, too
    #[arg(long)]
    with_secrets: bool,
    /// Write to this file, which must not be there yet, instead of stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

impl ExportArgs {
    fn is_meant(&self, scanned: &Scanned) -> bool {
        let task = &scanned.stored.task;
        self.whose.is_meant(scanned)
            && (self.state.is_empty() || self.state.contains(&task.state()))
            && self.since.is_none_or(|since| task.status.timestamp.is_some_and(|time| time >= since))
    }
}

pub(super) async fn run(context: &Context, args: &ExportArgs) -> Result<(), CliError> {
    let kept = args.store.kept(context, &[])?;
    let opened = Database::reading(&kept).await?;
    let store = opened.store();
    let Some(path) = &args.to else {
        let out = &mut BufWriter::new(io::stdout().lock());
        return export(store, args, out).await.map(|_| ());
    };
    let file = create(path)?;
    let mut out = BufWriter::new(file);
    let written = match export(store, args, &mut out).await {
        Ok(written) => out.get_ref().sync_all().map(|()| written).map_err(|error| unwritten(path, &error)),
        Err(error) => Err(error),
    };
    let written = written.inspect_err(|_| {
        // An incomplete file is of no use.
        let _ = std::fs::remove_file(path);
    })?;
    context.output.document(&json!({"export": path, "tasks": written}), |text| {
        text.field("Export", &format!("{}, {written} tasks", path.display()));
    })
}

async fn export(
    store: &dyn nuncio_engine::TaskStore,
    args: &ExportArgs,
    out: &mut impl Write,
) -> Result<usize, CliError> {
    let (mut scan, mut written, mut unreadable) = (Scan::of(store), 0, 0);
    while let Some(page) = scan.next().await.map_err(|error| failed(&error))? {
        for scanned in page.tasks.iter().filter(|scanned| args.is_meant(scanned)) {
            match out.write_all(&output::document(&line(scanned, args.with_secrets), true)?) {
                Ok(()) => written += 1,
                // The reader closed the pipe.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(written),
                Err(error) => return Err(CliError::internal(format!("the export cannot be written: {error}"))),
            }
        }
        for task in page.unreadable.iter().filter(|task| args.whose.is_of(&task.scope)) {
            unreadable += 1;
            diag::warn(&format!("task {} cannot be read and is left out: {}", task.id, failed(&task.error).message));
        }
    }
    match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(CliError::internal(format!("the export cannot be written: {error}")));
        }
        _ => {}
    }
    if unreadable > 0 {
        return Err(CliError::internal(format!("{unreadable} tasks cannot be read, and the export lacks them"))
            .with_hint("`nuncio db check` says more"));
    }
    Ok(written)
}

fn line(scanned: &Scanned, with_secrets: bool) -> Value {
    let configs: Vec<_> = scanned.configs.iter().map(|config| config_json(config, with_secrets)).collect();
    json!({
        "scope": scope_json(&scanned.scope), "sequence": scanned.stored.sequence,
        "task": &*scanned.stored.task, "pushConfigs": configs,
    })
}

fn config_json(config: &PushConfig, with_secrets: bool) -> Value {
    let mut shown = config.config.clone();
    if !with_secrets {
        shown.token = None;
        if let Some(authentication) = &mut shown.authentication {
            authentication.credentials = None;
        }
    }
    json!({"config": shown, "format": config.format, "delivered": config.delivered})
}

/// A new file, for its owner only.
fn create(path: &Path) -> Result<File, CliError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CliError::usage(format!("{} is there already", path.display()))
            .with_hint("an export overwrites nothing; give another path"),
        _ => unwritten(path, &error),
    })
}

fn unwritten(path: &Path, error: &io::Error) -> CliError {
    CliError::internal(format!("cannot write {}: {error}", path.display()))
}
