//! The help of each command: flags that do nothing there are taken, but not offered.

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;

const SETTINGS: &str = "Flags of agents, waiting and output can be set as variables (A2ACLI_AGENT_CARD, A2ACLI_BEARER) or \
in a .env file; `nuncio config show` says what holds.";

/// The whole command line.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let hidden =
        |name: &str| command.get_arguments().find(|arg| arg.get_id() == name).cloned().map(|arg| arg.hide(true));
    let (stream, output) = (hidden("stream"), hidden("output"));
    command.clone().mut_subcommands(|command| trim(command, stream.as_ref(), output.as_ref()))
}

fn trim(command: Command, stream: Option<&Arg>, output: Option<&Arg>) -> Command {
    if command.has_subcommands() {
        return command.mut_subcommands(|command| trim(command, stream, output));
    }
    let name = command.get_name().to_owned();
    let mut command = command;
    // Events come of these two alone.
    if !matches!(&*name, "send" | "subscribe") {
        command = command.args(stream);
    }
    if name == "completion" {
        command = command.args(output);
    }
    let calls = command.get_arguments().any(|arg| arg.get_id() == "agent_card");
    if calls { command.after_help(SETTINGS) } else { command }
}
