//! `nuncio task download ID [DIR]`: writes the files of a task into a folder.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::short_id;
use crate::{
    args::{ConnectArgs, WaitArgs},
    connect::Connection,
    context::Context,
    diag,
    error::CliError,
    files, follow,
};

#[derive(Debug, Args)]
pub(crate) struct TaskDownloadArgs {
    /// The task's id
    #[arg(value_name = "TASK_ID")]
    task: String,
    /// The folder; a missing folder is created
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

pub(crate) async fn run(context: &Context, args: &TaskDownloadArgs) -> Result<(), CliError> {
    follow::within(context, &args.waiting, async {
        let connection = Connection::open(context, &args.connect).await?;
        let id = short_id::resolve(&connection, &args.task).await?;
        let task = connection.client.task(id).await.map_err(|error| connection.explain(error))?;
        let saved = files::save_task(&task, &args.folder)?;
        if saved.is_empty() {
            diag::warn("the task has no files");
        }
        context.output.document(&json!({"files": saved}), |to| {
            for file in &saved {
                to.field("Saved", &file.about());
            }
        })
    })
    .await
}
