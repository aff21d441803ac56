//! `nuncio task list` (section 3.1.4).

use clap::Args;
use nuncio_model::{TaskState, Timestamp, op::ListTasksRequest};

use super::task_get::history;
use crate::{
    args::{ConnectArgs, WaitArgs, history_length},
    connect::{Connection, quoted},
    context::Context,
    error::CliError,
    follow,
};

#[derive(Debug, Args)]
pub(crate) struct TaskListArgs {
    /// Only tasks of this context
    #[arg(long, alias = "context-id", value_name = "ID")]
    context: Option<String>,
    /// Only tasks in this state, for example working or input-required
    #[arg(long, value_name = "STATE", value_parser = state)]
    status: Option<TaskState>,
    /// How many tasks a page holds, 1 to 100 [default: 50]
    #[arg(long, alias = "page-size", value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100),
        allow_negative_numbers = true)]
    limit: Option<i32>,
    /// Where the page begins, as the page before said
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    /// How many messages of history each task has [default: all]
    #[arg(long, value_name = "N", value_parser = history_length, allow_negative_numbers = true)]
    history: Option<i32>,
    /// Only tasks updated at this time or later, for example 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Show the artifacts of each task
    #[arg(long)]
    with_artifacts: bool,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

pub(crate) async fn run(context: &Context, args: &TaskListArgs) -> Result<(), CliError> {
    let request = ListTasksRequest {
        context_id: args.context.as_deref().map(Into::into),
        status: args.status.unwrap_or_default(),
        page_size: args.limit,
        page_token: args.page_token.as_deref().map(Into::into),
        history_length: history(context, args.history)?,
        status_timestamp_after: args.since,
        include_artifacts: args.with_artifacts.then_some(true),
        ..ListTasksRequest::default()
    };
    follow::within(context, &args.waiting, async {
        let connection = Connection::open(context, &args.connect).await?;
        let page = connection.client.tasks(request).await.map_err(|error| connection.explain(error))?;
        let next = (!page.next_page_token.is_empty()).then(|| args.command(&page.next_page_token, &connection.flags));
        context.output.tasks(&page, next.as_deref())
    })
    .await
}

impl TaskListArgs {
    /// The command that gives the page which begins at a token.
    fn command(&self, token: &str, connection: &str) -> String {
        let mut words = vec!["nuncio task list".to_owned()];
        let mut add = |flag: &str, value: &str| words.push(format!("{flag} {}", quoted(value)));
        if let Some(id) = &self.context {
            add("--context", id);
        }
        if let Some(state) = self.status {
            add("--status", state.short());
        }
        if let Some(limit) = self.limit {
            add("--limit", &limit.to_string());
        }
        if let Some(length) = self.history {
            add("--history", &length.to_string());
        }
        if let Some(time) = self.since {
            add("--since", &time.to_string());
        }
        add("--page-token", token);
        words.extend(self.with_artifacts.then(|| "--with-artifacts".to_owned()));
        words.extend(Some(connection.to_owned()).filter(|flags| !flags.is_empty()));
        words.join(" ")
    }
}

pub(super) fn state(text: &str) -> Result<TaskState, String> {
    let names = || TaskState::ALL.iter().skip(1).map(|state| state.short()).collect::<Vec<_>>().join(", ");
    TaskState::from_name(text).ok_or_else(|| format!("there are {}", names()))
}
