//! The help of each command. Flags without an effect are accepted and not shown; the defaults are the values of the
//! environment and files (cli specification, section 4).

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;
use crate::config::{Layers, SETTINGS};

const SETTINGS_HELP: &str = "Flags of agents, waiting and output can be set as variables (A2ACLI_AGENT_CARD, A2ACLI_BEARER) or \
in a .env file; `nuncio config show` says what holds.";

/// The whole command line. With layers of settings, the help shows their values.
pub(crate) fn command(layers: Option<&Layers>) -> Command {
    let command = Cli::command().mut_args(|arg| effective(arg, layers));
    let hidden =
        |name: &str| command.get_arguments().find(|arg| arg.get_id() == name).cloned().map(|arg| arg.hide(true));
    let (stream, output) = (hidden("stream"), hidden("output"));
    command.clone().mut_subcommands(|command| trim(command, stream.as_ref(), output.as_ref(), layers))
}

fn trim(command: Command, stream: Option<&Arg>, output: Option<&Arg>, layers: Option<&Layers>) -> Command {
    if command.has_subcommands() {
        return command.mut_subcommands(|command| trim(command, stream, output, layers));
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
    if !calls {
        return command;
    }
    // Only `send` has `--wait` from elsewhere.
    let is_set = |arg: &Arg| name == "send" || arg.get_id() != "wait";
    command.mut_args(|arg| if is_set(&arg) { effective(arg, layers) } else { arg }).after_help(SETTINGS_HELP)
}

/// A flag whose help shows the configured value in place of the built-in default.
fn effective(arg: Arg, layers: Option<&Layers>) -> Arg {
    let setting = SETTINGS.iter().find(|setting| arg.get_long() == Some(setting.name));
    let Some((setting, (value, source))) = setting.and_then(|it| Some((it, layers?.get(it.name)?))) else { return arg };
    let told = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let told = told.split(" [default: ").next().unwrap_or_default();
    let value = if setting.is_secret { "***" } else { value };
    let told = format!("{told} [default: {value}, from {source}]");
    arg.help(told)
}
