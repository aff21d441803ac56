//! `nuncio task subscribe ID` (section 3.1.6): follows a task that exists.

use std::process::ExitCode;

use clap::Args;
use nuncio_client::{ClientError, Failure};
use nuncio_wire::Version;

use crate::{
    args::{ConnectArgs, WaitArgs},
    connect::Connection,
    context::Context,
    diag,
    error::{CliError, Code},
    follow::{self, Follower, Outcome},
    reference::InHand,
};

#[derive(Debug, Args)]
pub(crate) struct TaskSubscribeArgs {
    /// The task's id
    #[arg(value_name = "TASK_ID")]
    task: String,
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
        let streams = connection.client.card().is_none_or(|card| card.capabilities.streams());
        let outcome = if streams {
            let came = match connection.client.watch(args.task.as_str()).await {
                // Who waits for the outcome has it when the task stands still; who wants events wants the next.
                Ok(watch) => follower.watch(watch, is_stream).await,
                Err(ClientError::Transport(failure @ Failure::TimedOut { .. })) if is_older(&connection) => {
                    diag::progress(&format!("{failure}; asking for the task instead"));
                    follower.poll(&args.task.as_str().into(), None, is_stream).await
                }
                Err(error) => Err(connection.explain(error)),
            };
            came.map_err(|error| refused(error, args, &connection))?
        } else {
            diag::progress("the agent does not stream; asking for the task instead");
            follower.poll(&args.task.as_str().into(), None, is_stream).await?
        };
        let Outcome::Task(task) = outcome else {
            return Err(CliError::internal("a task became a message"));
        };
        if !is_stream {
            let has_head = follower.has_head();
            context.output.document(&task, |to| if has_head { to.outcome(&task) } else { to.task(&task) })?;
        }
        follower.close(&task, args.fail)
    })
    .await
}

/// Whether the agent may have nothing to say when it is subscribed to: from 1.0 on the task comes first.
fn is_older(connection: &Connection) -> bool {
    connection.client.version().is_some_and(|version| version < Version::V1_0)
}

/// A task that has ended has no events to come (section 3.1.6), but can be read.
fn refused(error: CliError, args: &TaskSubscribeArgs, connection: &Connection) -> CliError {
    if error.code != Code::Agent("UnsupportedOperationError") {
        return error;
    }
    error.with_hint(InHand::named(&args.task, connection).get_command())
}
