//! Applies faults to real nodes while clients record all answers, then checks the recorded histories: no data may be
//! lost.
//!
//! A run consists of a `World` (nodes, PostgreSQL, NATS, proxies), `Client`s with their `Reader`s, which write a
//! `History`, `Fault`s chosen by a seed, `settle`, which reads everything at the end, and `check`, a pure function from
//! a history to violations.

mod agent;
mod board;
mod call;
mod check;
mod client;
mod event;
mod fault;
mod history;
mod node;
mod options;
mod random;
mod reader;
mod run;
mod settle;
mod sink;
mod world;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use options::{Arguments, Command, Options};

fn main() -> Result<ExitCode> {
    let Arguments { command, run } = Arguments::parse();
    match command {
        Some(Command::Agent) => agent::turn(),
        Some(Command::Check { history }) => {
            let violations = check::check(&history::read(&history)?);
            report(&violations);
            Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        None => chaos(&run),
    }
}

#[expect(clippy::print_stdout, reason = "a run reports what it found")]
fn chaos(options: &Options) -> Result<ExitCode> {
    let seed = options.seed.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
        now.map_or(0, |time| u64::from(time.subsec_nanos()) ^ time.as_secs() & 0xffff_ffff)
    });
    println!("chaos: seed {seed}, {:?}, {} node(s)", options.store, options.nodes());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(run::run(options, seed))?;
    println!("{}", check::summary(&outcome.entries));
    report(&outcome.violations);
    let has_failed = if options.expect.is_empty() {
        !outcome.violations.is_empty()
    } else {
        // An intended bug must be visible as one of the expected violations.
        !outcome.violations.iter().any(|violation| options.expect.iter().any(|promise| promise == violation.promise))
    };
    if has_failed || options.folder.is_some() {
        println!("the history is {}/history.jsonl", outcome.folder.display());
    } else {
        std::fs::remove_dir_all(&outcome.folder)?;
    }
    if has_failed {
        println!("to repeat: ./chaos --seed {}, with the same options", outcome.seed);
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[expect(clippy::print_stdout, reason = "a run reports what it found")]
fn report(violations: &[check::Violation]) {
    for violation in violations.iter().take(40) {
        println!("VIOLATION {violation}");
    }
    match violations.len() {
        0 => println!("no violation"),
        many => println!("{many} violation(s)"),
    }
}
