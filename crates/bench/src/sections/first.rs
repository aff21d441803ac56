//! The time from a request to the first chunk.

use std::time::Duration;

use anyhow::Result;

use super::streams::own_streams;
use crate::{
    bench::{Bench, Store},
    report::{Report, Row, Verdict},
    trial::interleave,
};

const CHUNKS: u64 = 10;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "First chunk",
        "One reader, streams of 10 chunks one after the other; p50 and p99 are from the request to the first chunk.",
    );
    let database = bench.new_database();
    let memory = bench.serve(Store::Memory)?;
    let sqlite = bench.serve(Store::Sqlite(&database))?;
    let waits = bench.waits();
    let contenders =
        vec![own_streams("memory", &memory, waits, 1, CHUNKS), own_streams("SQLite", &sqlite, waits, 1, CHUNKS)];
    let ceiling = own_streams("ceiling", &bench.ceiling, waits, 1, CHUNKS);
    for one in interleave(&bench.plan, &bench.processes, ceiling, contenders) {
        let soon = Verdict::new("p50 < 1 ms", one.p50 < Duration::from_millis(1));
        let verdicts = if one.label == "ceiling" { Vec::new() } else { vec![soon] };
        report.row(Row::of(&one, format!("1 x {CHUNKS}"), "events/s", verdicts));
    }
    Ok(())
}
