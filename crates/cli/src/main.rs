//! The `nuncio` binary: reads the command line, runs one command, says how it went.

mod allocator;
mod args;
mod command;
mod config;
mod connect;
mod context;
mod diag;
mod error;
mod follow;
mod log;
mod output;
mod reference;
mod signal;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use args::{Cli, Command, Format};
use error::CliError;
use output::Output;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let cli = match args::command().try_get_matches_from(&arguments).and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, &arguments),
    };
    let (output, outcome) = run(cli);
    match outcome {
        Ok(code) => code,
        Err(error) => {
            output.error(&error);
            ExitCode::from(error.code.exit())
        }
    }
}

fn run(cli: Cli) -> (Output, Result<ExitCode, CliError>) {
    let early = Output::new(cli.global.output.unwrap_or_else(format_of_environment), cli.global.stream, false);
    let serves = matches!(cli.command, Command::Serve(_));
    let runtime = if serves {
        // As many workers as there are processors, or as TOKIO_WORKER_THREADS says.
        tokio::runtime::Builder::new_multi_thread().enable_all().build()
    } else {
        tokio::runtime::Builder::new_current_thread().enable_all().build()
    };
    match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(command::run(cli));
            if serves {
                // What is cut off has children of its own to end.
                runtime.shutdown_timeout(command::serve::CUT_OFF);
            } else {
                // A thread that still waits for stdin is left behind.
                runtime.shutdown_background();
            }
            outcome
        }
        Err(error) => (early, Err(CliError::internal(format!("the runtime cannot start: {error}")))),
    }
}

/// The format before settings are read, for errors that come before that.
fn format_of_environment() -> Format {
    let set = std::env::var(config::variable("output")).ok();
    set.and_then(|text| context::format_of(&text).ok()).unwrap_or(Format::Text)
}

/// Says what is wrong with the command line; help and version are no errors.
fn refuse(error: &clap::Error, arguments: &[std::ffi::OsString]) -> ExitCode {
    use clap::error::ErrorKind as Kind;
    let format = wanted_format(arguments);
    if error.kind() == Kind::UnknownArgument
        && let Some(hint) =
            command::serve::program_hint(arguments).or_else(|| command::send::words_hint(error, arguments))
    {
        let message = error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Output::new(format, false, false).error(&CliError::usage(message).with_hint(hint));
        return ExitCode::from(2);
    }
    let is_question = matches!(error.kind(), Kind::DisplayHelp | Kind::DisplayVersion);
    if is_question || format == Format::Text {
        let _ = error.print();
        return ExitCode::from(if is_question { 0 } else { 2 });
    }
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let hint = lines.find_map(|line| line.strip_prefix("tip: ")).map(str::to_owned);
    let failure = CliError::usage(message).with_hint(hint.unwrap_or_else(|| "--help shows the usage".to_owned()));
    Output::new(format, false, false).error(&failure);
    ExitCode::from(2)
}

/// The format that a command line asks for which cannot be read as a whole.
fn wanted_format(arguments: &[std::ffi::OsString]) -> Format {
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
