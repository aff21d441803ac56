//! Compares Nuncio with a bare axum handler: both in one run, on one machine, with one core for the server and one core
//! for the load.
//!
//! `ceiling` is the bare handler in a separate process. The rest is the load generator and the evaluation: `sections`
//! defines the measurements, `load` makes and checks requests, `trial` interleaves the two servers, and `report` prints
//! the results.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark's output is its table; progress goes to stderr"
)]
#![expect(clippy::cast_precision_loss, reason = "rates and ratios are printed with three digits")]

mod bench;
mod ceiling;
mod load;
mod machine;
mod markdown;
mod options;
mod report;
mod sections;
mod server;
mod services;
mod trial;

use std::process::ExitCode;

use clap::Parser;

use crate::options::{Command, Options};

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.command {
        Some(Command::Ceiling(ceiling)) => ceiling::serve(ceiling).map(|()| true),
        None => bench::run(&options.run),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
