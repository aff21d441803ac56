//! The commands: one file each. A command takes its arguments and a [`Context`], prints its result and gives an exit
//! code.

pub(crate) mod card_get;
pub(crate) mod completion;
pub(crate) mod config_show;
pub(crate) mod db;
pub(crate) mod push_config;
pub(crate) mod send;
pub(crate) mod serve;
mod short_id;
pub(crate) mod task_cancel;
pub(crate) mod task_download;
pub(crate) mod task_events;
pub(crate) mod task_get;
pub(crate) mod task_list;
pub(crate) mod task_subscribe;
mod version;

use std::process::ExitCode;

use crate::{
    args::{CardCommand, Cli, Command, ConfigCommand, ConnectArgs, GlobalArgs, TaskCommand},
    connect,
    context::{self, Context},
    diag,
    error::CliError,
    log,
    output::Output,
    reference,
    signal::{self, Signal},
};

/// Runs a command, and returns the output that reports its failure.
pub(crate) async fn run(cli: Cli) -> (Output, Result<ExitCode, CliError>) {
    let agent = cli.command.agent();
    let context = match Context::load(&cli.global, agent, cli.command.reads_client_file(&cli.global)) {
        Ok(context) => context,
        Err(error) => {
            let variable = std::env::var(crate::config::variable("output")).unwrap_or_default();
            let format = cli.global.output.or_else(|| context::format_of(&variable).ok());
            let format = format.unwrap_or(crate::args::Format::Text);
            return (Output::new(format, cli.global.stream, false), Err(error));
        }
    };
    if let Some(args) = cli.command.connect_args() {
        diag::hide(connect::secrets(&context, args));
    }
    let output = context.output;
    if let Command::Serve(args) = &cli.command {
        return (output, serve::run(&context, args).await);
    }
    log::start_calling(context.global.debug, "warn", context.global.verbose);
    let outcome = match signal::or_signal(Box::pin(dispatch(&context, &cli.command))).await {
        Ok(Err(error)) => Err(error.with_last_hint(connect::place()).await),
        Ok(outcome) => outcome,
        Err(signal) => {
            stopped(output, signal);
            Ok(signal.exit())
        }
    };
    (output, outcome)
}

/// Reports that a signal ended the command, and how its task can be continued. JSON output has the report, too.
fn stopped(output: Output, signal: Signal) {
    let mut error = CliError::internal(format!("interrupted by {}", signal.name()));
    if let Some(task) = reference::in_hand() {
        task.tell();
        if output.is_text() {
            diag::error(&error.message);
        }
        diag::hint(&task.way_on());
        error.hint = Some(task.way_on());
    } else if output.is_text() {
        diag::error(&error.message);
    }
    if !output.is_text() {
        output.error(&error);
    }
}

async fn dispatch(context: &Context, command: &Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Card(CardCommand::Get(args)) => card_get::run(context, args).await?,
        Command::Send(args) => return send::run(context, args).await,
        Command::Task(TaskCommand::Get(args)) => return task_get::run(context, args).await,
        Command::Task(TaskCommand::List(args)) => task_list::run(context, args).await?,
        Command::Task(TaskCommand::Cancel(args)) => task_cancel::run(context, args).await?,
        Command::Task(TaskCommand::Download(args)) => task_download::run(context, args).await?,
        Command::Task(TaskCommand::Events(args)) => task_events::run(context, args).await?,
        Command::Task(TaskCommand::Subscribe(args)) => return task_subscribe::run(context, args).await,
        Command::Task(TaskCommand::PushConfig(command)) => push_config::run(context, command).await?,
        Command::Serve(args) => return serve::run(context, args).await,
        Command::Db(command) => return Box::pin(db::run(context, command)).await,
        Command::Config(ConfigCommand::Show(args)) => config_show::run(context, args)?,
        Command::Completion(args) => completion::run(args)?,
        Command::Version => version::run(context)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Command {
    /// Whether the file of `--config` has client settings. `nuncio serve` has another format.
    fn reads_client_file(&self, global: &GlobalArgs) -> bool {
        match self {
            Self::Serve(_) | Self::Db(_) => false,
            Self::Config(ConfigCommand::Show(args)) => !args.is_of_serve(global.config.as_deref()),
            _ => true,
        }
    }

    /// The reference that is given as an argument.
    fn agent(&self) -> Option<&str> {
        match self {
            Self::Card(CardCommand::Get(args)) => args.reference(),
            other => other.connect_args()?.agent_card.as_deref(),
        }
    }

    /// The connection arguments of a command that calls an agent.
    fn connect_args(&self) -> Option<&ConnectArgs> {
        Some(match self {
            Self::Card(CardCommand::Get(args)) => &args.connect,
            Self::Send(args) => &args.connect,
            Self::Task(TaskCommand::Get(args)) => &args.connect,
            Self::Task(TaskCommand::List(args)) => &args.connect,
            Self::Task(TaskCommand::Cancel(args)) => &args.connect,
            Self::Task(TaskCommand::Download(args)) => &args.connect,
            Self::Task(TaskCommand::Events(args)) => &args.connect,
            Self::Task(TaskCommand::Subscribe(args)) => &args.connect,
            Self::Task(TaskCommand::PushConfig(command)) => command.connect_args(),
            Self::Config(ConfigCommand::Show(args)) => &args.connect,
            Self::Serve(_) | Self::Db(_) | Self::Completion(_) | Self::Version => return None,
        })
    }
}
