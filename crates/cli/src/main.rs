//! The `nuncio` binary: parses the command line, runs a command, reports the result.

mod allocator;
mod args;
mod command;
mod config;
mod connect;
mod context;
mod diag;
mod error;
mod escape;
mod files;
mod follow;
mod log;
mod output;
mod reference;
mod sealed;
mod signal;
mod style;
mod usage;
mod waiting;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use args::{Cli, Command};
use error::CliError;
use output::Output;

fn main() -> ExitCode {
    let arguments = sealed::arguments();
    let layers = usage::layers_of_help(&arguments);
    let command = args::command(layers.as_ref());
    let cli = match command.try_get_matches_from(&arguments).and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => return usage::refuse(&error, &arguments),
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
    let early = Output::new(cli.global.output.unwrap_or_else(usage::format_of_environment), cli.global.stream, false);
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
                // Cancelled turns need time to end their child processes.
                runtime.shutdown_timeout(command::serve::CUT_OFF);
                log::flush();
            } else {
                // A thread that still waits for stdin is left behind.
                runtime.shutdown_background();
            }
            outcome
        }
        Err(error) => (early, Err(CliError::internal(format!("the runtime cannot start: {error}")))),
    }
}
