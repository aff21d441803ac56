//! SendMessage: the three-event echo; each request creates, runs and ends one task.

use std::time::Duration;

use anyhow::Result;

use super::{connections, echo_ceiling, share, unary};
use crate::{
    bench::{Bench, Store},
    load::{call::create_tasks, grpc, unary::Unary},
    report::{Report, Row, Verdict, thousands},
    server::Server,
    trial::{Contender, Measured, interleave},
};

const JSONRPC: &str = "JSON-RPC, memory";
const JSONRPC_0_3: &str = "JSON-RPC of 0.3, memory";
const JSONRPC_SQLITE: &str = "JSON-RPC, SQLite NORMAL";

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "SendMessage",
        "A three-event echo, blocking. The ceiling parses the same request and answers a task as long. gRPC puts up to 16 calls on a connection.",
    );
    let kept = bench.serve(Store::Memory)?;
    create_tasks(kept.address(), bench.plan.kept_for_send, Unary::echo_jsonrpc())?;
    let waits = bench.waits();
    for &concurrency in &bench.plan.concurrency {
        let (normal, full) = (bench.new_database(), bench.new_database());
        let memory = bench.serve(Store::Memory)?;
        let sqlite = bench.serve(Store::Sqlite(&normal))?;
        let synced = bench.serve(Store::SqliteFull(&full));
        let kept_label = format!("JSON-RPC, memory, {} kept", thousands(bench.plan.kept_for_send as f64));
        let mut contenders = vec![
            unary(JSONRPC, &memory, waits, concurrency, Unary::echo_jsonrpc()),
            unary(JSONRPC_0_3, &memory, waits, concurrency, Unary::echo_jsonrpc_0_3()),
            unary("HTTP+JSON, memory", &memory, waits, concurrency, Unary::echo_rest()),
            over_grpc("gRPC, memory", &memory, concurrency),
            unary(&kept_label, &kept, waits, concurrency, Unary::echo_jsonrpc()),
            unary(JSONRPC_SQLITE, &sqlite, waits, concurrency, Unary::echo_jsonrpc()),
            unary("HTTP+JSON, SQLite NORMAL", &sqlite, waits, concurrency, Unary::echo_rest()),
            over_grpc("gRPC, SQLite NORMAL", &sqlite, concurrency),
        ];
        match &synced {
            Ok(synced) => {
                contenders.push(unary("JSON-RPC, SQLite FULL", synced, waits, concurrency, Unary::echo_jsonrpc()));
            }
            Err(error) => report.refuse("JSON-RPC, SQLite FULL", format!("{error:#}")),
        }
        let ceiling = echo_ceiling(bench, waits, concurrency);
        let measured = interleave(&bench.plan, &bench.processes, ceiling, contenders);
        for one in &measured {
            let verdicts = verdicts(one, &measured, &kept_label, concurrency);
            report.row(Row::of(one, connections(concurrency), "req/s", verdicts));
        }
    }
    Ok(())
}

fn over_grpc<'a>(label: &str, server: &'a Server, concurrency: usize) -> Contender<'a> {
    Contender::new(label, server, move |slice| grpc::run(server.address(), concurrency, slice))
}

fn verdicts(one: &Measured, all: &[Measured], kept: &str, concurrency: usize) -> Vec<Verdict> {
    let own = one.ratio.unwrap_or(0.0);
    let beside = |other: &str| Verdict::new("≥ 0.85 of JSON-RPC", own >= 0.85 * share(all, other));
    match (one.label.as_str(), concurrency) {
        (label, 16) if label == kept => {
            vec![Verdict::of_ceiling(one, 0.55), Verdict::new("p99 < 2 ms", one.p99 < Duration::from_millis(2))]
        }
        (JSONRPC_0_3, _) => vec![Verdict::new("≤ 1.15 × 1.0", own * 1.15 >= share(all, JSONRPC))],
        (JSONRPC_SQLITE, 64) => vec![Verdict::of_ceiling(one, 0.25)],
        ("HTTP+JSON, memory", _) => vec![beside(JSONRPC)],
        ("HTTP+JSON, SQLite NORMAL", _) => vec![beside(JSONRPC_SQLITE)],
        ("gRPC, memory", _) => vec![Verdict::of_ceiling(one, 0.27)],
        _ => Vec::new(),
    }
}
