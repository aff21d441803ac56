//! The flags of `nuncio serve`, made from the table of its settings.

use std::{collections::BTreeMap, ffi::OsString};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, parser::ValueSource};

use super::settings::{Kind, SETTINGS};
use crate::connect::quoted;

/// What was given on the command line, by the name of the setting.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServeArgs {
    pub(super) given: BTreeMap<&'static str, Vec<String>>,
    /// The program behind `--`.
    pub(super) command: Vec<String>,
}

impl ServeArgs {
    /// Settings that are given by other means.
    pub(super) fn of(given: BTreeMap<&'static str, Vec<String>>) -> Self {
        Self { given, command: Vec::new() }
    }
}

const COMMAND: &str = "command";

/// The settings that most servers have, in the order of the help.
const MOST_USED: [&str; 9] = ["exec", "jsonl", "port", "host", "token", "store", "name", "public-url", "quiet"];

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
            // `-h` is short; `--help` shows all flags, the most used first.
            arg = match MOST_USED.iter().position(|name| *name == setting.name) {
                Some(at) => arg.help_heading("Most used").display_order(at),
                None => arg.hide_short_help(true),
            };
            arg = match setting.kind {
                Kind::Switch => arg.action(ArgAction::SetTrue),
                Kind::List => arg.action(ArgAction::Append).value_name(setting.value),
                // Words of people and delimiters may begin with a hyphen.
                Kind::One => arg
                    .action(ArgAction::Set)
                    .value_name(setting.value)
                    // A negative number is refused as a value, and not as an unknown flag.
                    .allow_negative_numbers(matches!(setting.value, "N" | "SIZE" | "DURATION" | "PORT"))
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
            .after_help("Each setting is also a variable, NUNCIO_SERVE_PORT for example, and a line of a TOML file: --config FILE, port = 8080. A .env file holds none of them.")
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

/// The hint for a value that begins with a hyphen and was parsed as a flag. Clap suggests `--`, behind which the
/// program stands.
pub(crate) fn value_hint(arguments: &[OsString]) -> Option<String> {
    let words: Vec<_> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy()).take_while(|word| word != "--").collect();
    words.iter().position(|word| is_serve(word))?;
    let takes_one = |word: &str| {
        let name = word.strip_prefix("--").unwrap_or_default();
        SETTINGS.iter().any(|setting| setting.name == name && matches!(setting.kind, Kind::One | Kind::List))
    };
    let is_value = |word: &str| word.len() > 1 && word.starts_with('-') && !word.starts_with("--");
    let pair = words.windows(2).find(|pair| takes_one(&pair[0]) && is_value(&pair[1]))?;
    Some(format!("a value that begins with a hyphen is written with `=`: {}={}", pair[0], pair[1]))
}

fn is_serve(word: &str) -> bool {
    matches!(word, "serve" | "server" | "demo-server")
}

/// The hint for an unknown flag. Clap suggests `--`, behind which the program stands.
pub(crate) fn flag_hint(arguments: &[OsString], tips: &[&str]) -> Option<String> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy()).take_while(|word| word != "--");
    words.find(|word| is_serve(word))?;
    let like_it: Vec<_> = tips.iter().copied().filter(|tip| !tip.starts_with("to pass ")).collect();
    Some(match &like_it[..] {
        [] => "`nuncio serve --help` lists the flags".to_owned(),
        tips => tips.join("; "),
    })
}

/// The hint for a program directly behind `--exec` or `--jsonl`.
pub(crate) fn program_hint(arguments: &[OsString]) -> Option<String> {
    let words: Vec<_> = arguments.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let serve = words.iter().position(|word| is_serve(word))?;
    let words = &words[serve + 1..];
    let at = words.iter().position(|word| matches!(&**word, "--exec" | "--jsonl"))?;
    let is_own = |word: &str| {
        let name = word.strip_prefix("--").and_then(|word| word.split('=').next());
        name.is_some_and(|name| SETTINGS.iter().any(|setting| setting.name == name))
    };
    let program: Vec<_> = words[at + 1..].iter().take_while(|word| !is_own(word)).map(|word| quoted(word)).collect();
    if program.is_empty() || program.iter().any(|word| word == "--") {
        return None;
    }
    Some(format!("put the program behind --: nuncio serve {} -- {}", words[at], program.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(line: &str) -> Option<String> {
        program_hint(&line.split(' ').map(Into::into).collect::<Vec<_>>())
    }

    #[test]
    fn a_value_with_a_hyphen_goes_behind_its_flag() {
        let hint = |line: &str| value_hint(&line.split(' ').map(Into::into).collect::<Vec<_>>());
        let told = hint("nuncio serve --quiet --drain -5s --port 1").unwrap();
        assert_eq!(told, "a value that begins with a hyphen is written with `=`: --drain=-5s");
        for line in [
            "nuncio serve --quiet -5s",
            "nuncio serve --drain 5s",
            "nuncio serve -- --drain -5s",
            "nuncio x --drain -5s",
        ] {
            assert_eq!(hint(line), None, "{line}");
        }
    }

    #[test]
    fn a_flag_that_is_none_is_not_taken_for_a_program() {
        let hint = |line: &str, tips: &[&str]| flag_hint(&line.split(' ').map(Into::into).collect::<Vec<_>>(), tips);
        let behind = "to pass '--bogus' as a value, use '-- --bogus'";
        let told = hint("nuncio serve --bogus", &[behind]).unwrap();
        assert_eq!(told, "`nuncio serve --help` lists the flags");
        let similar = "a similar argument exists: '--port'";
        assert_eq!(hint("nuncio serve --prot 1", &[similar, behind]).unwrap(), similar);
        assert_eq!(hint("nuncio send --bogus", &[behind]), None);
    }

    #[test]
    fn a_program_goes_behind_two_hyphens() {
        let wanted = Some("put the program behind --: nuncio serve --exec -- wc -w".to_owned());
        for line in ["nuncio serve --exec wc -w", "nuncio server --token a=secret --exec wc -w --port 0"] {
            assert_eq!(hint(line), wanted, "{line}");
        }
        for line in ["nuncio serve --exec -- wc -w", "nuncio serve --exec --nonsense -- wc", "nuncio send --exec wc"] {
            assert_eq!(hint(line), None, "{line}");
        }
    }
}
