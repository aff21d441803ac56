//! `nuncio db delete`: deletes a task, or all tasks of a tenant, a caller or a context. Nothing remains in the tables
//! or in the files of SQLite.

use clap::Args;
use nuncio_engine::{StoreError, store::Erase};
use nuncio_model::{ContextId, Principal, Scope, TaskId};
use nuncio_store::{Owner, Which};
use serde_json::json;

use super::{
    StoreArgs,
    database::{self, Database},
    failed,
    select::Whose,
};
use crate::{context::Context, error::CliError};

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    whose: Whose,
    /// This task
    #[arg(long, value_name = "ID", conflicts_with = "context")]
    task: Option<String>,
    /// Do it
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) async fn run(context: &Context, args: &DeleteArgs) -> Result<(), CliError> {
    let Whose { tenant, caller, context: of_context } = &args.whose;
    if [tenant, caller, of_context, &args.task].iter().all(|it| it.is_none()) {
        return Err(CliError::usage("it is not said what to delete")
            .with_hint("say --tenant, --caller, --context or --task, or more of them for what all of them mean"));
    }
    let kept = args.store.kept(context, &[])?;
    if !args.yes {
        let opened = Database::reading(&kept).await?;
        let owners = owners(&opened, args).await.map_err(|error| failed(&error))?;
        let tasks: u64 = owners.iter().map(|owner| owner.tasks).sum();
        let document = json!({"database": database::shown(&kept)?, "tasks": tasks, "deleted": false});
        return context.output.document(&document, |text| {
            text.field("Would-Delete", &format!("{}, for good; --yes does it", counted(tasks)));
        });
    }
    let opened = Database::writing(&kept).await?;
    let store = opened.store();
    let mut deleted = 0;
    for erase in meant(&opened, args).await.map_err(|error| failed(&error))? {
        deleted += store.erase(&erase).await.map_err(|error| failed(&error))?;
    }
    store.close().await.map_err(|error| failed(&error))?;
    let document = json!({"database": database::shown(&kept)?, "tasks": deleted});
    context.output.document(&document, |text| text.field("Deleted", &counted(deleted as u64)))
}

fn counted(tasks: u64) -> String {
    format!("{tasks} {}", if tasks == 1 { "task" } else { "tasks" })
}

/// The owners of the selected tasks, with the number of tasks.
async fn owners(opened: &Database, args: &DeleteArgs) -> Result<Vec<Owner>, StoreError> {
    let (task, context) = (args.task.as_deref().map(TaskId::from), args.whose.context.as_deref().map(ContextId::from));
    let which = match (&task, &context) {
        (Some(task), _) => Which::Task(task),
        (None, Some(context)) => Which::Context(context),
        (None, None) => Which::All,
    };
    let owners = opened.owners(which).await?.into_iter();
    Ok(owners.filter(|owner| args.whose.is_of(&owner.scope)).collect())
}

/// The selection of the tasks to erase.
async fn meant(opened: &Database, args: &DeleteArgs) -> Result<Vec<Erase>, StoreError> {
    let Whose { tenant, caller, context } = &args.whose;
    if let (Some(tenant), None, None, None) = (tenant, caller, context, &args.task) {
        return Ok(vec![Erase::Tenant(tenant.as_str().into())]);
    }
    let scopes = match (tenant, caller) {
        (Some(tenant), Some(caller)) => vec![Scope::new(tenant.as_str().into(), Principal::named(caller.as_str()))],
        _ => owners(opened, args).await?.into_iter().map(|owner| owner.scope).collect(),
    };
    let of_scope = |scope: Scope| match (&args.task, context) {
        (Some(task), _) => Erase::Task(scope, task.as_str().into()),
        (None, Some(context)) => Erase::Context(scope, context.as_str().into()),
        (None, None) => Erase::Scope(scope),
    };
    Ok(scopes.into_iter().map(of_scope).collect())
}
