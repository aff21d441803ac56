//! ListTasks: the first page of many stored tasks, compared with GetTask on the same server.

use anyhow::Result;

use super::{connections, echo_ceiling, recent, share, unary};
use crate::{
    bench::{Bench, Store},
    load::{call::create_tasks, unary::Unary},
    report::{Report, Row, Verdict, thousands},
    trial::{Measured, interleave},
};

const PAGE: usize = 10;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let kept = thousands(bench.plan.kept_for_list as f64);
    report.table(
        "ListTasks",
        &format!("The first {PAGE} of {kept} kept tasks, and GetTask of recent ones on the same server."),
    );
    let database = bench.new_database();
    let memory = bench.serve(Store::Memory)?;
    let sqlite = bench.serve(Store::Sqlite(&database))?;
    let in_memory = recent(&create_tasks(memory.address(), bench.plan.kept_for_list, Unary::echo_jsonrpc())?)?;
    let in_sqlite = recent(&create_tasks(sqlite.address(), bench.plan.kept_for_list, Unary::echo_jsonrpc())?)?;

    let waits = bench.waits();
    for &concurrency in &bench.plan.concurrency {
        let contenders = vec![
            unary("memory, GetTask", &memory, waits, concurrency, Unary::get_jsonrpc(in_memory.clone())?),
            unary("memory, JSON-RPC", &memory, waits, concurrency, Unary::list_jsonrpc(PAGE)),
            unary("memory, HTTP+JSON", &memory, waits, concurrency, Unary::list_rest(PAGE)),
            unary("SQLite, GetTask", &sqlite, waits, concurrency, Unary::get_jsonrpc(in_sqlite.clone())?),
            unary("SQLite, JSON-RPC", &sqlite, waits, concurrency, Unary::list_jsonrpc(PAGE)),
            unary("SQLite, HTTP+JSON", &sqlite, waits, concurrency, Unary::list_rest(PAGE)),
        ];
        let ceiling = echo_ceiling(bench, waits, concurrency);
        let measured = interleave(&bench.plan, &bench.processes, ceiling, contenders);
        for one in &measured {
            let verdicts = verdicts(one, &measured);
            report.row(Row::of(one, connections(concurrency), "req/s", verdicts));
        }
    }
    Ok(())
}

fn verdicts(one: &Measured, all: &[Measured]) -> Vec<Verdict> {
    let Some((store, what)) = one.label.split_once(", ") else {
        return Vec::new();
    };
    if what == "GetTask" {
        return Vec::new();
    }
    let get = share(all, &format!("{store}, GetTask"));
    vec![Verdict::new("under five GetTasks", one.ratio.unwrap_or(0.0) > get / 5.0)]
}
