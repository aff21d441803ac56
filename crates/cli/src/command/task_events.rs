//! `nuncio task events ID`: the log of a task, one line per record (`docs/extensions/resume.md`).

use clap::Args;
use futures_util::StreamExt as _;
use nuncio_client::Cursor;
use nuncio_model::{StreamEvent, StreamResponse, TaskId, TaskStatus, op::GetTaskRequest, resume};

use super::short_id;
use crate::{
    args::{ConnectArgs, WaitArgs},
    connect::Connection,
    context::Context,
    error::{CliError, Code},
    follow,
    reference::{self, InHand},
};

#[derive(Debug, Args)]
pub(crate) struct TaskEventsArgs {
    /// The task's id
    #[arg(value_name = "TASK_ID")]
    task: String,
    /// Continue when the task waits for its client, until the task ends [default: off]
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

pub(crate) async fn run(context: &Context, args: &TaskEventsArgs) -> Result<(), CliError> {
    follow::within(context, &args.waiting, async {
        let connection = Connection::open(context, &args.connect).await?;
        let id = short_id::resolve(&connection, &args.task).await?;
        if connection.client.card().is_some_and(|card| !resume::is_declared(&card)) {
            return Err(without_log(&id, &connection));
        }
        print(context, args, &connection, &id).await
    })
    .await
}

async fn print(context: &Context, args: &TaskEventsArgs, connection: &Connection, id: &TaskId) -> Result<(), CliError> {
    let watch = connection.client.watch(Cursor::new(id.clone()).after(0)).await;
    let mut watch = watch.map_err(|error| connection.explain(error))?;
    reference::note(InHand::named(id.as_str(), connection));
    let mut is_first = true;
    while let Some(event) = watch.next().await {
        let event = event.map_err(|error| connection.explain(error))?;
        if std::mem::take(&mut is_first) && !begins_log(&event) {
            return Err(match event.sequence {
                None if connection.client.card().is_none() => without_log(id, connection),
                _ => no_longer_kept(id, connection),
            });
        }
        context.output.record(&event)?;
        let Some(status) = status_of(&event.response) else { continue };
        reference::note_state(status.state);
        if status.state.is_terminal() {
            break;
        }
        if !args.follow && status.state.is_interrupted() && is_current(connection, id, status).await? {
            break;
        }
    }
    Ok(())
}

/// Whether an event is the first record of a log. A server without the log sends a snapshot first.
fn begins_log(event: &StreamEvent) -> bool {
    event.sequence == Some(1)
}

fn status_of(response: &StreamResponse) -> Option<&TaskStatus> {
    match response {
        StreamResponse::Task(task) => Some(&task.status),
        StreamResponse::StatusUpdate(update) => Some(&update.status),
        StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => None,
    }
}

/// Whether the task still has this status, so that the log ends here for now. An earlier interruption is followed by
/// other records.
async fn is_current(connection: &Connection, id: &TaskId, status: &TaskStatus) -> Result<bool, CliError> {
    let mut request = GetTaskRequest::new(id.clone());
    request.history_length = Some(0);
    let task = connection.client.call(request).await.map_err(|error| connection.explain(error))?;
    Ok(is_same(&task.status, status))
}

fn is_same(one: &TaskStatus, other: &TaskStatus) -> bool {
    let message = |status: &TaskStatus| status.message.as_ref().map(|message| message.message_id.clone());
    let key = |status: &TaskStatus| (status.state, status.timestamp, message(status));
    key(one) == key(other)
}

/// The agent does not declare the extension that reads a log from its beginning.
fn without_log(id: &TaskId, connection: &Connection) -> CliError {
    let message =
        format!("the agent does not show the logs of tasks: it does not support the extension {}", resume::URI);
    unsupported(message, id, connection)
}

fn no_longer_kept(id: &TaskId, connection: &Connection) -> CliError {
    let message = format!(
        "the agent has no log of task {id}: the log was deleted after the agent's --log-retention, or the task ended at \
         once and has a result only"
    );
    unsupported(message, id, connection)
}

fn unsupported(message: String, id: &TaskId, connection: &Connection) -> CliError {
    let get = InHand::named(id.as_str(), connection).get_command();
    CliError::new(Code::Agent("UnsupportedOperationError"), message).with_hint(get)
}
