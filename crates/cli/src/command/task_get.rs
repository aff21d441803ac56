//! `nuncio task get ID` (section 3.1.3): reads a task once, or until it is done.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use nuncio_model::op::GetTaskRequest;

use super::{send::tell, short_id};
use crate::{
    args::{ConnectArgs, WaitArgs, history_length},
    connect::Connection,
    context::Context,
    error::CliError,
    files,
    follow::{self, Follower, Outcome},
};

#[derive(Debug, Args)]
pub(crate) struct TaskGetArgs {
    /// The task's id
    #[arg(value_name = "TASK_ID")]
    task: String,
    /// How many messages of history to show [default: all]
    #[arg(long, value_name = "N", value_parser = history_length, allow_negative_numbers = true)]
    history: Option<i32>,
    /// Wait until the task has ended or is interrupted [default: false]
    #[arg(long, visible_alias = "watch", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    wait: Option<bool>,
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

pub(crate) async fn run(context: &Context, args: &TaskGetArgs) -> Result<ExitCode, CliError> {
    let history = history(context, args.history)?;
    follow::within(context, &args.waiting, async {
        let connection = Connection::open(context, &args.connect).await?;
        let mut request = GetTaskRequest::new(short_id::resolve(&connection, &args.task).await?);
        request.history_length = history;
        let task = connection.client.call(request).await.map_err(|error| connection.explain(error))?;
        let follower = Follower::new(context, &connection, &args.waiting, history, false)?;
        let task = if args.wait.unwrap_or(false) {
            match follower.go_on(task).await? {
                Outcome::Task(task) => *task,
                Outcome::Message(_) => return Err(CliError::internal("a task became a message")),
            }
        } else {
            task
        };
        let has_head = follower.has_head();
        context.output.document(&task, |to| if has_head { to.outcome(&task) } else { to.task(&task) })?;
        if let Some(folder) = &args.save_fileparts {
            tell(&files::save_task(&task, folder)?);
        }
        follower.close(&task, args.fail)
    })
    .await
}

/// The length of history that is wanted: the flag, else the setting.
pub(crate) fn history(context: &Context, flag: Option<i32>) -> Result<Option<i32>, CliError> {
    context.value(flag, "history", history_length)
}
