//! Streams: each reader repeatedly sends a `SendStreamingMessage` and reads the stream to the end.

use anyhow::Result;

use crate::{
    bench::{Bench, Store},
    load::{
        Until,
        request::{Template, message},
        sse::{self, Streams},
        watch::Waits,
    },
    report::{Report, Row, Verdict},
    server::Server,
    trial::{Contender, Group, Measured, in_turns},
};

pub(super) const SIZE: usize = 64;
pub(super) const LEAST_RATE: f64 = 150_000.0;
/// The chunks of a short and of a long stream, and the minimum ratio of the long streams' rate to the short streams'
/// rate.
const SHORT: u64 = 100;
const LONG: u64 = 10_000;
const LEAST_OF_SHORT: f64 = 0.9;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Streams, a task for each reader",
        "`load` is readers x chunks of 64 bytes; every event is counted and every chunk has to come once and in order. p50 and p99 are from the request to the first chunk.",
    );
    let waits = bench.waits();
    for &readers in &bench.plan.readers {
        let database = bench.new_database();
        let memory = bench.serve(Store::Memory)?;
        let sqlite = bench.serve(Store::Sqlite(&database))?;
        let group = |&chunks: &u64| Group {
            ceiling: own_streams("ceiling", &bench.ceiling, waits, readers, chunks),
            others: vec![
                own_streams("memory", &memory, waits, readers, chunks),
                own_streams("SQLite", &sqlite, waits, readers, chunks),
            ],
        };
        let measured = in_turns(&bench.plan, &bench.processes, bench.plan.chunks.iter().map(group).collect());
        rows(report, readers, &bench.plan.chunks, &measured);
    }
    Ok(())
}

/// One row for each measurement. Streams of 10,000 chunks are judged by streams of 100 chunks.
pub(super) fn rows(report: &mut Report, readers: usize, chunks: &[u64], measured: &[Vec<Measured>]) {
    let short = chunks.iter().position(|&chunks| chunks == SHORT).and_then(|at| measured.get(at));
    for (&chunks, measured) in chunks.iter().zip(measured) {
        for one in measured {
            report.row(Row::of(one, format!("{readers} x {chunks}"), "events/s", verdicts(one, chunks, short)));
        }
    }
}

/// A contender that streams to `readers`, with a separate task for each reader.
pub(super) fn own_streams<'a>(
    label: &str,
    server: &'a Server,
    waits: Waits,
    readers: usize,
    chunks: u64,
) -> Contender<'a> {
    let text = format!("stream {chunks} size={SIZE}");
    let mut streams = Streams { request: Template::jsonrpc("SendStreamingMessage", &message(&text)), chunks, readers };
    Contender::new(label, server, move |slice| sse::run(server.address(), waits, &mut streams, Until::Elapsed(slice)))
}

/// The verdicts: enough events per second, and the same rate in long streams as in short streams.
fn verdicts(one: &Measured, chunks: u64, short: Option<&Vec<Measured>>) -> Vec<Verdict> {
    if one.label == "ceiling" || chunks < SHORT {
        return Vec::new();
    }
    let mut verdicts = vec![Verdict::new("≥ 150,000 events/s", one.rate >= LEAST_RATE)];
    if chunks == LONG
        && let Some(short) = short.and_then(|short| super::labelled(short, &one.label))
    {
        verdicts.push(Verdict::new("≥ 0.9 of 100 chunks", one.by(short).is_some_and(|share| share >= LEAST_OF_SHORT)));
    }
    verdicts
}
