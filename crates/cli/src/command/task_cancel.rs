//! `nuncio task cancel ID` (section 3.1.5).

use clap::Args;
use nuncio_client::ClientError;
use nuncio_model::{ErrorKind, Struct, Task, TaskState, op::CancelTaskRequest};

use super::short_id;
use crate::{
    args::{ConnectArgs, WaitArgs, metadata},
    connect::Connection,
    context::Context,
    error::CliError,
    follow,
};

#[derive(Debug, Args)]
pub(crate) struct TaskCancelArgs {
    /// The task's id
    #[arg(value_name = "TASK_ID")]
    task: String,
    /// Data to send along, a JSON object; repeatable, later members win
    #[arg(long, value_name = "JSON", value_parser = metadata)]
    metadata: Vec<Struct>,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

pub(crate) async fn run(context: &Context, args: &TaskCancelArgs) -> Result<(), CliError> {
    let metadata = merged(context, &args.metadata)?.map(Box::new);
    follow::within(context, &args.waiting, async {
        let connection = Connection::open(context, &args.connect).await?;
        let id = short_id::resolve(&connection, &args.task).await?;
        let mut request = CancelTaskRequest::new(id.clone());
        request.metadata = metadata;
        let task = match connection.client.call(request).await {
            Ok(task) => task,
            Err(error) => {
                canceled_before(&connection, id.as_str(), &error).await.ok_or_else(|| connection.explain(error))?
            }
        };
        context.output.task(&task)
    })
    .await
}

/// The task if it is canceled already: a second cancel succeeds.
async fn canceled_before(connection: &Connection, task: &str, error: &ClientError) -> Option<Task> {
    let refusal = error.as_agent_error().filter(|error| error.kind() == ErrorKind::TaskNotCancelable);
    refusal?;
    let task = connection.client.task(task).await.ok()?;
    Some(task).filter(|task| task.state() == TaskState::Canceled)
}

/// The metadata of the flags, else of the setting; later members win.
pub(crate) fn merged(context: &Context, flags: &[Struct]) -> Result<Option<Struct>, CliError> {
    if flags.is_empty() {
        return context.layers.parsed("metadata", metadata);
    }
    Ok(Some(flags.iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()))
}
