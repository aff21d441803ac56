//! `nuncio task push-config create|get|list|delete` (sections 3.1.7 to 3.1.10).

use clap::{Args, Subcommand};
use nuncio_client::Client;
use nuncio_model::{
    AuthenticationInfo, Error, ErrorKind, TaskId, TaskPushNotificationConfig,
    op::{DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest},
};
use serde_json::json;

use super::short_id;
use crate::{
    args::{ConnectArgs, WaitArgs},
    connect::Connection,
    context::Context,
    diag,
    error::CliError,
    follow,
};

#[derive(Debug, Subcommand)]
pub(crate) enum PushConfigCommand {
    /// Register a webhook for a task
    Create(CreateArgs),
    /// Show a webhook
    Get(OneArgs),
    /// List the webhooks of a task
    List(AllArgs),
    /// Remove a webhook
    Delete(OneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    of: AllArgs,
    /// Where notifications are posted
    #[arg(long, help_heading = "Webhook")]
    url: String,
    /// The webhook's id; the same id replaces [default: made by the agent]
    #[arg(long, help_heading = "Webhook")]
    id: Option<String>,
    /// A token that comes with each notification
    #[arg(long, help_heading = "Webhook")]
    token: Option<String>,
    /// The scheme of the Authorization header of notifications
    #[arg(long, value_name = "SCHEME", help_heading = "Webhook")]
    auth_scheme: Option<String>,
    /// What follows the scheme
    #[arg(long, value_name = "CREDENTIALS", requires = "auth_scheme", help_heading = "Webhook")]
    auth_credentials: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    #[command(flatten)]
    of: AllArgs,
    /// The webhook's id
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct AllArgs {
    /// The task's id
    #[arg(value_name = "TASK_ID")]
    task: String,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl PushConfigCommand {
    pub(crate) fn connect_args(&self) -> &ConnectArgs {
        &self.of().connect
    }

    fn of(&self) -> &AllArgs {
        match self {
            Self::Create(args) => &args.of,
            Self::Get(args) | Self::Delete(args) => &args.of,
            Self::List(args) => args,
        }
    }
}

pub(crate) async fn run(context: &Context, command: &PushConfigCommand) -> Result<(), CliError> {
    let AllArgs { task, waiting, connect } = command.of();
    follow::within(context, waiting, async {
        let connection = Connection::open(context, connect).await?;
        let client = &connection.client;
        let task_id = short_id::resolve(&connection, task).await?;
        if client.card().is_some_and(|card| !card.capabilities.pushes()) {
            diag::warn("the agent's card does not declare push notifications");
        }
        let explain = |error| connection.explain(error);
        match command {
            PushConfigCommand::Create(args) => {
                diag::hide([args.token.clone(), args.auth_credentials.clone()].into_iter().flatten());
                let made = client.create_push_config(config(args, task_id)).await;
                let made = made.map_err(|error| refused(explain(error)))?;
                context.output.push_config(&made)
            }
            PushConfigCommand::Get(args) => {
                let id = args.id.as_str().into();
                let request = GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
                context.output.push_config(&client.call(request).await.map_err(explain)?)
            }
            PushConfigCommand::List(_) => {
                let page = client.push_configs(task_id).await.map_err(explain)?;
                if context.output.is_lines() {
                    return page.configs.iter().try_for_each(|config| context.output.push_config(config));
                }
                context.output.document(&page, |to| {
                    for config in &page.configs {
                        to.gap();
                        to.push_config(config);
                    }
                    to.gap();
                    to.field("Shown", &page.configs.len().to_string());
                    to.field_if("Next-Page", Some(&*page.next_page_token));
                })
            }
            PushConfigCommand::Delete(args) => {
                // Deletion succeeds whether the configuration exists or not (section 3.1.10).
                let is_there = exists(client, &task_id, &args.id).await;
                let id = args.id.as_str().into();
                let request = DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
                client.call(request).await.map_err(explain)?;
                if !is_there {
                    diag::warn(&format!("no such configuration: the task has no `{}`", args.id));
                }
                context.output.document(&json!({}), |to| {
                    to.field("Deleted", if is_there { &args.id } else { "nothing" });
                })
            }
        }
    })
    .await
}

/// Whether a configuration exists. Any answer but *not found* counts as yes.
async fn exists(client: &Client, task_id: &TaskId, id: &str) -> bool {
    let request =
        GetTaskPushNotificationConfigRequest { task_id: task_id.clone(), id: id.into(), ..Default::default() };
    let is_missing = |error: &Error| error.kind() == ErrorKind::TaskNotFound;
    !client.call(request).await.is_err_and(|error| error.as_agent_error().is_some_and(is_missing))
}

/// An agent that refuses private addresses may be a `nuncio serve`.
fn refused(error: CliError) -> CliError {
    if error.message.contains("is not a public address") {
        return error.with_hint(
            "where the agent is a `nuncio serve`, its flag --allow-private-webhooks lets it call this address",
        );
    }
    error
}

fn config(args: &CreateArgs, task_id: nuncio_model::TaskId) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: Some(task_id),
        id: args.id.as_deref().map(Into::into),
        url: args.url.clone(),
        token: args.token.clone(),
        authentication: args
            .auth_scheme
            .clone()
            .map(|scheme| AuthenticationInfo { scheme, credentials: args.auth_credentials.clone() }),
        ..TaskPushNotificationConfig::default()
    }
}
