//! The flags of `nuncio serve`, made from the table of its settings.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, parser::ValueSource};

use super::settings::{Kind, SETTINGS};

/// What was given on the command line, by the name of the setting.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServeArgs {
    pub(super) given: BTreeMap<&'static str, Vec<String>>,
    /// The program behind `--`.
    pub(super) command: Vec<String>,
}

const COMMAND: &str = "command";

impl Args for ServeArgs {
    fn augment_args(command: Command) -> Command {
        let mut command = command;
        for setting in SETTINGS {
            let default = match setting.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            let mut arg = Arg::new(setting.name).long(setting.name).help(format!("{}{default}", setting.help));
            arg = arg.help_heading(setting.heading).aliases(setting.aliases);
            arg = match setting.kind {
                Kind::Switch => arg.action(ArgAction::SetTrue),
                Kind::List => arg.action(ArgAction::Append).value_name(setting.value),
                // Words of people and delimiters may begin with a hyphen.
                Kind::One => arg
                    .action(ArgAction::Set)
                    .value_name(setting.value)
                    .allow_hyphen_values(matches!(setting.name, "chunk" | "name" | "description")),
                Kind::Program => {
                    arg.action(ArgAction::Set).value_name(setting.value).num_args(0..=1).default_missing_value("")
                }
            };
            command = command.arg(arg);
        }
        command
            .arg(Arg::new("echo").long("echo").action(ArgAction::SetTrue).hide(true))
            .arg(Arg::new(COMMAND).last(true).num_args(1..).value_name("CMD").help("The program and its arguments"))
            .after_help("Each setting is also a variable, NUNCIO_SERVE_PORT for example, and a line of a TOML file: --config FILE, port = 8080.")
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut args = Self::default();
        for setting in SETTINGS {
            if matches.value_source(setting.name) != Some(ValueSource::CommandLine) {
                continue;
            }
            let values = match setting.kind {
                Kind::Switch => vec![matches.get_flag(setting.name).to_string()],
                _ => matches.get_many::<String>(setting.name).into_iter().flatten().cloned().collect(),
            };
            args.given.insert(setting.name, values);
        }
        args.command = matches.get_many::<String>(COMMAND).into_iter().flatten().cloned().collect();
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
