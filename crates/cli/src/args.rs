//! What the command line takes (cli specification, sections 3 and 4).

mod connect;
mod help;
mod parts;
mod values;
mod wait;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use connect::ConnectArgs;
pub(crate) use help::command;
pub(crate) use parts::{PartArgs, PartFlag, PartKind};
pub(crate) use values::{duration, file_bytes, history_length, key_value, metadata, secret, switch};
pub(crate) use wait::WaitArgs;

use crate::{command, style::Color};

/// Talks to A2A agents, and makes one of any program.
///
/// A flag --FLAG of the commands that call agents can be set as A2ACLI_FLAG in the environment or in a .env file, a
/// flag of `serve` as NUNCIO_SERVE_FLAG in the environment or in a TOML file. `nuncio config show` prints the
/// effective values. Other users of the machine can see credentials given as flags: prefer A2ACLI_BEARER and
/// A2ACLI_API_KEY.
#[derive(Debug, Parser)]
#[command(name = "nuncio", version, propagate_version = false, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct GlobalArgs {
    /// How results are written to stdout [default: text]
    #[arg(short, long, global = true, value_name = "FORMAT", value_enum, ignore_case = true)]
    pub(crate) output: Option<Format>,
    /// Print events as they come; one JSON object per line with -o json
    #[arg(long, global = true)]
    pub(crate) stream: bool,
    /// Show everything of a result, not the gist of it [default: off]
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When labels and states have colors [default: auto]
    #[arg(long, global = true, value_name = "WHEN", value_enum, ignore_case = true)]
    pub(crate) color: Option<Color>,
    /// Log each step and each message on the wire to stderr, without secrets
    #[arg(long, global = true)]
    pub(crate) debug: bool,
    /// Read settings from this file instead of the nearest .env: dotenv, .json or .yaml; serve takes TOML
    #[arg(long, global = true, value_name = "FILE", alias = "env-file")]
    pub(crate) config: Option<PathBuf>,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: `Label: value` lines
    Text,
    /// One JSON document
    Json,
    /// One JSON object per line
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look at an agent's card
    #[command(subcommand)]
    Card(CardCommand),
    /// Send a message to an agent and wait for what comes of it
    Send(command::send::SendArgs),
    /// Look after tasks
    #[command(subcommand)]
    Task(TaskCommand),
    /// Serve an agent: a program, or the demo agent
    #[command(visible_aliases = ["server", "demo-server"])]
    Serve(Box<command::serve::ServeArgs>),
    /// Look after the database that tasks are kept in
    #[command(subcommand)]
    Db(command::db::DbCommand),
    /// Look at settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completion(command::completion::CompletionArgs),
    /// Print the version
    Version,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Print an agent's card
    Get(command::card_get::CardGetArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Read a task
    Get(command::task_get::TaskGetArgs),
    /// List tasks, newest first
    List(command::task_list::TaskListArgs),
    /// Cancel a task
    Cancel(command::task_cancel::TaskCancelArgs),
    /// Write the files of a task into a folder
    Download(command::task_download::TaskDownloadArgs),
    /// Print the log of a task: each record with its number and time
    Events(command::task_events::TaskEventsArgs),
    /// Follow a task until it ends
    #[command(visible_alias = "watch")]
    Subscribe(command::task_subscribe::TaskSubscribeArgs),
    /// Manage the webhooks of a task
    #[command(subcommand)]
    PushConfig(command::push_config::PushConfigCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print each setting, its value and where it is from
    Show(command::config_show::ConfigShowArgs),
}
