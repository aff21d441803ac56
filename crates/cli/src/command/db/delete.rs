//! `nuncio db delete`: deletes all of a tenant, a caller or a context, or a task, so that nothing of it is left in the
//! tables, nor in the files of SQLite.

use clap::Args;
use nuncio_engine::{StoreError, TaskStore, store::Erase};
use nuncio_model::Scope;
use serde_json::json;

use super::{
    StoreArgs,
    database::{self, Database},
    failed,
    select::{Scan, Whose},
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
        let (_, tasks) = meant(opened.store(), args).await.map_err(|error| failed(&error))?;
        let document = json!({"database": database::shown(&kept)?, "tasks": tasks, "deleted": false});
        return context.output.document(&document, |text| {
            text.field("Would-Delete", &format!("{}, for good; --yes does it", counted(tasks as u64)));
        });
    }
    let opened = Database::writing(&kept).await?;
    let store = opened.store();
    let (erasures, _) = meant(store, args).await.map_err(|error| failed(&error))?;
    let mut deleted = 0;
    for erase in &erasures {
        deleted += store.erase(erase).await.map_err(|error| failed(&error))?;
    }
    store.close().await.map_err(|error| failed(&error))?;
    let document = json!({"database": database::shown(&kept)?, "tasks": deleted});
    context.output.document(&document, |text| text.field("Deleted", &counted(deleted as u64)))
}

fn counted(tasks: u64) -> String {
    format!("{tasks} {}", if tasks == 1 { "task" } else { "tasks" })
}

/// What is to be erased for it, and how many tasks that are now.
async fn meant(store: &dyn TaskStore, args: &DeleteArgs) -> Result<(Vec<Erase>, usize), StoreError> {
    let Whose { tenant, caller, context } = &args.whose;
    let (mut scopes, mut tasks) = (Vec::<Scope>::new(), 0);
    let mut scan = Scan::of(store);
    while let Some(page) = scan.next().await? {
        // One that cannot be read is in no context that is known.
        let unreadable =
            page.unreadable.iter().map(|it| (&it.scope, &it.id, args.whose.is_of(&it.scope) && context.is_none()));
        let found = page.tasks.iter().map(|it| (&it.scope, &it.stored.task.id, args.whose.is_meant(it)));
        for (scope, id, is_meant) in found.chain(unreadable) {
            if is_meant && args.task.as_ref().is_none_or(|task| id.as_str() == task) {
                tasks += 1;
                if !scopes.contains(scope) {
                    scopes.push(scope.clone());
                }
            }
        }
    }
    let of_scope = |scope: Scope| match (&args.task, context) {
        (Some(task), _) => Erase::Task(scope, task.as_str().into()),
        (None, Some(context)) => Erase::Context(scope, context.as_str().into()),
        (None, None) => Erase::Scope(scope),
    };
    let erasures = match (tenant, caller, context, &args.task) {
        (Some(tenant), None, None, None) => vec![Erase::Tenant(tenant.as_str().into())],
        _ => scopes.into_iter().map(of_scope).collect(),
    };
    Ok((erasures, tasks))
}
