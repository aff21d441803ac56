//! Streams: each reader sends its own `SendStreamingMessage` and reads it to the end, again and again.

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
    trial::{Contender, Measured, interleave},
};

pub(super) const SIZE: usize = 64;
pub(super) const LEAST_RATE: f64 = 150_000.0;

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
        let mut at_hundred = Vec::new();
        for &chunks in &bench.plan.chunks {
            let contenders = vec![
                own_streams("memory", &memory, waits, readers, chunks),
                own_streams("SQLite", &sqlite, waits, readers, chunks),
            ];
            let ceiling = own_streams("ceiling", &bench.ceiling, waits, readers, chunks);
            let measured = interleave(&bench.plan, &bench.processes, ceiling, contenders);
            for one in &measured {
                let load = format!("{readers} x {chunks}");
                report.row(Row::of(one, load, "events/s", verdicts(one, &at_hundred, chunks)));
            }
            if chunks == 100 {
                at_hundred = measured;
            }
        }
    }
    Ok(())
}

/// A contender that streams to `readers`, to each its own task.
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

/// Enough events a second, and as many in a long stream as in one of 100 chunks.
pub(super) fn verdicts(one: &Measured, at_hundred: &[Measured], chunks: u64) -> Vec<Verdict> {
    if one.label == "ceiling" || chunks < 100 {
        return Vec::new();
    }
    let mut verdicts = vec![Verdict::new("≥ 150,000 events/s", one.rate >= LEAST_RATE)];
    let short = super::rate(at_hundred, &one.label);
    if chunks == 10_000 && short > 0.0 {
        verdicts.push(Verdict::new("≥ 0.9 of 100 chunks", one.rate >= 0.9 * short));
    }
    verdicts
}
