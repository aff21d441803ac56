//! `nuncio task subscribe ID` (section 3.1.6): follows a task that exists.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use nuncio_client::{ClientError, Failure};
use nuncio_model::{StreamResponse, TaskId};
use nuncio_wire::Version;

use super::{send::tell, short_id};
use crate::{
    args::{ConnectArgs, WaitArgs},
    connect::Connection,
    context::Context,
    diag,
    error::{CliError, Code},
    files,
    follow::{self, Follower, Outcome},
    reference::InHand,
};

#[derive(Debug, Args)]
pub(crate) struct TaskSubscribeArgs {
    /// The task's id
    #[arg(value_name = "TASK_ID")]
    task: String,
    /// Write the files of the answer into this folder; a missing folder is created
    #[arg(long, value_name = "DIR")]
    save_fileparts: Option<PathBuf>,
    /// Exit with 1 when the task ends failed, rejected or canceled [default: off]
    #[arg(long)]
    fail: bool,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

pub(crate) async fn run(context: &Context, args: &TaskSubscribeArgs) -> Result<ExitCode, CliError> {
    let is_stream = context.global.stream;
    follow::within(context, &args.waiting, async {
        let connection = Connection::open(context, &args.connect).await?;
        let follower = Follower::new(context, &connection, &args.waiting, None, is_stream)?;
        let id = short_id::resolve(&connection, &args.task).await?;
        let streams = connection.client.card().is_none_or(|card| card.capabilities.streams());
        let outcome = if streams {
            let came = match connection.client.watch(id.clone()).await {
                // Without `--stream`, a task that waits is the outcome. With `--stream`, the events of the next turn follow.
                Ok(watch) => follower.watch(watch, is_stream).await,
                Err(ClientError::Transport(failure @ Failure::TimedOut { .. })) if is_older(&connection) => {
                    diag::progress(&format!("{failure}; asking for the task instead"));
                    follower.poll(&id, None, is_stream).await
                }
                Err(error) => Err(connection.explain(error)),
            };
            match came {
                Err(error) if error.code == Code::Agent("UnsupportedOperationError") => {
                    ended(&follower, &id).await.ok_or_else(|| refused(error, id.as_str(), &connection))?
                }
                came => came?,
            }
        } else {
            diag::progress("the agent does not stream; asking for the task instead");
            follower.poll(&id, None, is_stream).await?
        };
        let Outcome::Task(task) = outcome else {
            return Err(CliError::internal("a task became a message"));
        };
        if !is_stream {
            let has_head = follower.has_head();
            context.output.document(&task, |to| if has_head { to.outcome(&task) } else { to.task(&task) })?;
        }
        if let Some(folder) = &args.save_fileparts {
            tell(&files::save_task(&task, folder)?);
        }
        follower.close(&task, args.fail)
    })
    .await
}

/// Whether a subscription may begin without an event: since 1.0 the first event is the task.
fn is_older(connection: &Connection) -> bool {
    connection.client.version().is_some_and(|version| version < Version::V1_0)
}

/// The outcome of a task that has ended: no event follows (section 3.1.6), but the task can be read.
async fn ended(follower: &Follower<'_>, id: &TaskId) -> Option<Outcome> {
    let task = follower.connection.client.task(id.clone()).await.ok().filter(|task| task.state().is_terminal())?;
    if follower.is_stream {
        follower.output.event(&StreamResponse::Task(task.clone())).ok()?;
    }
    Some(Outcome::Task(Box::new(task)))
}

/// The agent refuses the subscription; the hint reads the task.
fn refused(error: CliError, task: &str, connection: &Connection) -> CliError {
    error.with_hint(InHand::named(task, connection).get_command())
}
