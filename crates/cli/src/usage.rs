//! What clap finds wrong with a command line, in the words and the form of all errors.

use std::{borrow::Cow, error::Error as _, ffi::OsString, path::Path, process::ExitCode};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::{
    args::Format,
    command::{self, serve},
    config::{self, Layers},
    context,
    error::CliError,
    output::Output,
};

/// Says what is wrong with the command line; help and version are no errors.
pub(crate) fn refuse(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let format = wanted_format(arguments);
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help && format == Format::Text {
        // This is the probable intention.
        let _ = error.print();
    }
    let failure = if is_help || error.kind() == ErrorKind::MissingSubcommand {
        CliError::usage("a command is missing").with_hint("--help lists the commands")
    } else {
        explain(error, arguments)
    };
    Output::new(format, false, false).error(&failure);
    ExitCode::from(failure.code.exit())
}

fn explain(error: &clap::Error, arguments: &[OsString]) -> CliError {
    let text = error.to_string();
    let said = Said::of(&text);
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let own = is_unknown.then(|| {
        serve::program_hint(arguments)
            .or_else(|| serve::value_hint(arguments))
            .or_else(|| serve::flag_hint(arguments, &said.tips))
            .or_else(|| command::send::words_hint(error, arguments))
    });
    let hint = own.flatten().or_else(|| match (&*said.tips.join("; "), said.usage) {
        ("", Some(usage)) => Some(format!("usage: {usage}; --help says more")),
        ("", None) => None,
        (tips, _) => Some(tips.to_owned()),
    });
    CliError::usage(without_secret(error).unwrap_or(said.message))
        .with_hint(hint.unwrap_or_else(|| "--help says more".to_owned()))
}

/// What clap writes for a terminal, apart.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said<'a> {
    message: String,
    tips: Vec<&'a str>,
    usage: Option<&'a str>,
}

impl<'a> Said<'a> {
    /// The message is the first paragraph: its first line, followed by the items of the list below.
    fn of(text: &'a str) -> Self {
        let mut said = Self::default();
        let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut lines = first.lines().map(str::trim).filter(|line| !line.is_empty());
        let head = lines.next().unwrap_or_default();
        let listed = lines.collect::<Vec<_>>().join(", ");
        format!("{} {listed}", head.strip_prefix("error: ").unwrap_or(head)).trim_end().clone_into(&mut said.message);
        for line in rest.lines().map(str::trim) {
            said.tips.extend(line.strip_prefix("tip: "));
            said.usage = said.usage.or(line.strip_prefix("Usage: "));
        }
        said
    }
}

/// The error for a wrong value of a secret flag, without the value, which clap would print.
fn without_secret(error: &clap::Error) -> Option<String> {
    let (Some(ContextValue::String(flag)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return None;
    };
    let name = flag.trim_start_matches("--").split([' ', '=']).next().unwrap_or_default();
    let is_secret = config::SETTINGS.iter().any(|setting| setting.is_secret && setting.name == name);
    let reason = error.source().map_or_else(|| "it cannot be".to_owned(), ToString::to_string);
    (is_secret && !value.is_empty()).then(|| format!("invalid value for '{flag}': {reason}"))
}

/// The settings for a help text. Unreadable settings do not prevent the help.
pub(crate) fn layers_of_help(arguments: &[OsString]) -> Option<Layers> {
    let words: Vec<_> = arguments.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('h');
    if !words.iter().any(|word| matches!(&**word, "help" | "--help") || is_short(word)) {
        return None;
    }
    let given = |flags: &[&str]| {
        let value = |(index, word): (usize, &Cow<'_, str>)| {
            let of = |flag: &&str| match word.strip_prefix(flag)? {
                "" => words.get(index + 1).map(ToString::to_string),
                rest => rest.strip_prefix('=').map(str::to_owned),
            };
            flags.iter().find_map(of)
        };
        words.iter().enumerate().find_map(value)
    };
    let file = given(&["--config", "--env-file"]).or_else(|| std::env::var(config::variable("config")).ok());
    let file = file.filter(|path| !path.is_empty());
    Layers::load(file.as_deref().map(Path::new), given(&["--agent-card", "-a"]).as_deref()).ok()
}

/// The output format for errors before the settings are read.
pub(crate) fn format_of_environment() -> Format {
    let set = std::env::var(config::variable("output")).ok();
    set.and_then(|text| context::format_of(&text).ok()).unwrap_or(Format::Text)
}

/// The format that a command line asks for which cannot be read as a whole.
fn wanted_format(arguments: &[OsString]) -> Format {
    let words: Vec<_> = arguments.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let mut format = format_of_environment();
    for (index, word) in words.iter().enumerate() {
        let value = match &**word {
            "--" => break,
            "-o" | "--output" => words.get(index + 1).map(|next| &**next),
            word => {
                word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o=")).or_else(|| word.strip_prefix("-o"))
            }
        };
        format = value.and_then(|value| context::format_of(value).ok()).unwrap_or(format);
    }
    format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_what_is_listed_below_it() {
        let text = "error: the following required arguments were not provided:\n  <TASK_ID>\n  --url <URL>\n\n\
                    Usage: nuncio x <TASK_ID>\n\nFor more information, try '--help'.\n";
        let said = Said::of(text);
        assert_eq!(said.message, "the following required arguments were not provided: <TASK_ID>, --url <URL>");
        assert_eq!((said.usage, said.tips.len()), (Some("nuncio x <TASK_ID>"), 0));
        let said = Said::of("error: unexpected argument '--x' found\n\n  tip: a similar one exists: '--y'\n  tip: b\n");
        assert_eq!(said.message, "unexpected argument '--x' found");
        assert_eq!(said.tips, ["a similar one exists: '--y'", "b"]);
        assert_eq!(Said::of("error: short\n").message, "short");
    }
}
