//! GetTask: recently used tasks, and tasks that are only in the database.

use anyhow::Result;

use super::{connections, echo_ceiling, recent, shuffled, unary};
use crate::{
    bench::{Bench, Store},
    load::{call::create_tasks, unary::Unary},
    report::{Report, Row, Verdict, thousands},
    trial::interleave,
};

/// Tasks before recent tasks are read.
const WARM: u64 = 10_000;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "GetTask",
        "Completed echo tasks over JSON-RPC: the last 1,000 made; and in random order from a database opened anew, so that hardly one is in a cache.",
    );
    let (warm_database, cold_database) = (bench.new_database(), bench.new_database());
    let memory = bench.serve(Store::Memory)?;
    let in_memory = recent(&create_tasks(memory.address(), WARM, Unary::echo_jsonrpc())?)?;
    let sqlite = bench.serve(Store::Sqlite(&warm_database))?;
    let in_sqlite = recent(&create_tasks(sqlite.address(), WARM, Unary::echo_jsonrpc())?)?;
    let filled = bench.serve(Store::Sqlite(&cold_database))?;
    let cold_ids = create_tasks(filled.address(), bench.plan.kept_for_get, Unary::echo_jsonrpc())?;
    let cold_ids: std::sync::Arc<[String]> = shuffled(cold_ids).into();
    drop(filled);
    let cold = bench.serve(Store::Sqlite(&cold_database))?;
    let cold_label = format!("SQLite, any of {}", thousands(cold_ids.len() as f64));

    let waits = bench.waits();
    for &concurrency in &bench.plan.concurrency {
        let contenders = vec![
            unary("memory, recent", &memory, waits, concurrency, Unary::get_jsonrpc(in_memory.clone())?),
            unary("SQLite, recent", &sqlite, waits, concurrency, Unary::get_jsonrpc(in_sqlite.clone())?),
            unary(&cold_label, &cold, waits, concurrency, Unary::get_jsonrpc(cold_ids.clone())?),
        ];
        let ceiling = echo_ceiling(bench, waits, concurrency);
        for one in interleave(&bench.plan, &bench.processes, ceiling, contenders) {
            let verdicts = match one.label.as_str() {
                "ceiling" => Vec::new(),
                label if label == cold_label => vec![Verdict::of_ceiling(&one, 0.5)],
                _ => vec![Verdict::of_ceiling(&one, 0.75)],
            };
            report.row(Row::of(&one, connections(concurrency), "req/s", verdicts));
        }
    }
    Ok(())
}
