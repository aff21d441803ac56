//! `nuncio db check`: checks the file with SQLite's own check, the tables, and every log, which must fold to its
//! task.

use std::process::ExitCode;

use clap::Args;
use nuncio_engine::{
    Record, StoreError, TaskStore, lifecycle,
    store::{Portion, Scanned},
};
use nuncio_model::{Task, error::with_causes};
use serde_json::json;

use super::{
    StoreArgs,
    database::{self, Database},
    failed,
    select::Scan,
};
use crate::{context::Context, error::CliError};

/// What is read of a log at a time.
const PAGE: Portion = Portion { records: 1_000, bytes: 4 * 1024 * 1024 };

/// Tasks at work without a process that are named, at most.
const ORPHANS: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) async fn run(context: &Context, args: &CheckArgs) -> Result<ExitCode, CliError> {
    let kept = args.store.kept(context, &[])?;
    let (opened, shown) = (Database::reading(&kept).await?, database::shown(&kept)?);
    let (mut findings, mut checked) = (Vec::new(), Checked::default());
    match look(&opened, &mut findings, &mut checked).await {
        // After a broken page nothing can be read; the earlier findings count.
        Err(error @ StoreError::Corrupt(_)) => {
            findings.push(format!("no more of it can be read: {}", with_causes(&error)));
        }
        looked => looked.map_err(|error| failed(&error))?,
    }
    let advice = (!findings.is_empty()).then(|| opened.advice());
    match orphans(opened.store()).await {
        Err(StoreError::Corrupt(_)) if advice.is_some() => {}
        orphans => findings.extend(orphans.map_err(|error| failed(&error))?),
    }
    let notes = opened.notes().await.map_err(|error| failed(&error))?;
    let mut document = json!({
        "database": shown, "tasks": checked.tasks, "logs": checked.logs, "findings": findings, "notes": notes,
    });
    if let Some(advice) = advice {
        document["hint"] = advice.into();
    }
    context.output.document(&document, |text| {
        text.field("Database", &shown);
        text.field("Tasks", &format!("{}, of which {} with a whole log", checked.tasks, checked.logs));
        match &findings[..] {
            [] => text.field("Findings", "none"),
            some => text.block("Findings", &some.join("\n")),
        }
        if !notes.is_empty() {
            text.block("Notes", &notes.join("\n"));
        }
        text.field_if("Hint", advice);
    })?;
    Ok(ExitCode::from(u8::from(!findings.is_empty())))
}

#[derive(Default)]
struct Checked {
    tasks: usize,
    /// Logs with all records from the first on.
    logs: usize,
}

/// Checks the database, and the guarantees of every store for its tasks.
async fn look(database: &Database, findings: &mut Vec<String>, checked: &mut Checked) -> Result<(), StoreError> {
    findings.extend(database.verify().await?);
    let store = database.store();
    let mut scan = Scan::of(store);
    while let Some(page) = scan.next().await? {
        for scanned in &page.tasks {
            checked.tasks += 1;
            match log(store, scanned).await {
                Ok(is_there) => checked.logs += usize::from(is_there),
                Err(Fault::Log(finding)) => findings.push(format!("task {}: {finding}", scanned.stored.task.id)),
                Err(Fault::Store(error)) => return Err(error),
            }
        }
        for task in page.unreadable {
            checked.tasks += 1;
            findings.push(format!("task {} cannot be read: {}", task.id, failed(&task.error).message));
        }
    }
    Ok(())
}

/// Tasks in a working state without a node.
async fn orphans(store: &dyn TaskStore) -> Result<Vec<String>, StoreError> {
    let orphans = store.orphans(ORPHANS).await?;
    let named = orphans
        .iter()
        .map(|it| format!("task {} is at work, and no process is; the next server to start ends it or goes on", it.id));
    Ok(named.collect())
}

enum Fault {
    Log(String),
    Store(StoreError),
}

/// Whether the log of a task exists and folds to the task. The task may have changed since it was read.
async fn log(store: &dyn TaskStore, scanned: &Scanned) -> Result<bool, Fault> {
    let (stored, mut folded, mut sequence) = (&scanned.stored, Task::default(), 0);
    while sequence < stored.sequence {
        let records = match store.events_after(&scanned.scope, &stored.task.id, sequence, PAGE).await {
            Ok(records) => records,
            // The log was dropped since it was read, unless its beginning is still the same.
            Err(StoreError::Compacted) if sequence > 0 => {
                return match store.events_after(&scanned.scope, &stored.task.id, 0, Portion::records(1)).await {
                    Ok(first) if !first.is_empty() => Err(Fault::Log(format!("record {} is missing", sequence + 1))),
                    Ok(_) | Err(StoreError::Compacted) => Ok(false),
                    Err(error) => Err(Fault::Store(error)),
                };
            }
            Err(StoreError::Compacted) => return Ok(false),
            Err(StoreError::Corrupt(cause)) => return Err(Fault::Log(format!("a record cannot be read: {cause}"))),
            Err(error) => return Err(Fault::Store(error)),
        };
        for record in records.iter().take_while(|record| record.sequence() <= stored.sequence) {
            fold(&mut folded, record, sequence).map_err(Fault::Log)?;
            sequence = record.sequence();
        }
        if records.is_empty() {
            // The task was deleted since it was read, or its log ends too early.
            return match store.load(&scanned.scope, &stored.task.id).await.map_err(Fault::Store)? {
                None => Ok(false),
                Some(_) => Err(Fault::Log(format!("its log ends with record {sequence} of {}", stored.sequence))),
            };
        }
    }
    if folded == *stored.task { Ok(true) } else { Err(Fault::Log("its log does not fold to it".to_owned())) }
}

fn fold(task: &mut Task, record: &Record, last: u64) -> Result<(), String> {
    if record.sequence() != last + 1 {
        return Err(format!("record {} follows on {last}", record.sequence()));
    }
    lifecycle::apply(task, record).map_err(|error| format!("record {} does not apply: {error}", record.sequence()))
}
