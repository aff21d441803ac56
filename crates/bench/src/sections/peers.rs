//! SendMessage, compared with echo agents on the official SDKs. `./bench peers` builds these agents and passes their
//! paths; without the paths there is nothing to measure.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{connections, echo_ceiling, unary};
use crate::{
    bench::{Bench, Store},
    load::unary::Unary,
    report::{Report, Row},
    trial::interleave,
};

/// The environment variables with the paths, set by `./bench`.
const PYTHON: &str = "NUNCIO_BENCH_PYTHON";
const PYTHON_AGENT: &str = "NUNCIO_BENCH_PYTHON_AGENT";
const RUST_AGENT: &str = "NUNCIO_BENCH_RUST_AGENT";

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Beside the official SDKs",
        "SendMessage over JSON-RPC, a three-event echo, tasks in memory, one core for the server. \
         Rust: a2a-server-lf 0.5.3. Python: a2a-sdk 1.3.0 under uvicorn.",
    );
    let python = bench.serve_program(&variable(PYTHON)?, &[variable(PYTHON_AGENT)?.display().to_string()])?;
    let rust = bench.serve_program(&variable(RUST_AGENT)?, &[])?;
    for &concurrency in &bench.plan.concurrency {
        let waits = bench.waits();
        let nuncio = bench.serve(Store::Memory)?;
        let database = bench.new_database();
        let durable = bench.serve(Store::Sqlite(&database))?;
        let contender = |label: &str, server| unary(label, server, waits, concurrency, Unary::echo_jsonrpc());
        let contenders = vec![
            contender("Nuncio, memory", &nuncio),
            contender("Nuncio, SQLite NORMAL", &durable),
            contender("Rust SDK, memory", &rust),
            contender("Python SDK, memory", &python),
        ];
        let ceiling = echo_ceiling(bench, waits, concurrency);
        for one in &interleave(&bench.plan, &bench.processes, ceiling, contenders) {
            report.row(Row::of(one, connections(concurrency), "req/s", Vec::new()));
        }
    }
    Ok(())
}

fn variable(name: &str) -> Result<PathBuf> {
    let value = std::env::var_os(name).with_context(|| format!("{name} is not set; run `./bench peers`"))?;
    let path = PathBuf::from(value);
    anyhow::ensure!(path.exists(), "{} of {name} is missing", path.display());
    Ok(path)
}
