//! Fan-out: many readers join one task before its first chunk and read the task to the end.

use anyhow::Result;

use super::streams::{SIZE, own_streams, rows};
use crate::{
    bench::{Bench, Store},
    load::{
        shared::{self, Tasks},
        watch::Waits,
    },
    report::Report,
    server::Server,
    trial::{Contender, Group, in_turns},
};

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Streams, many readers of one task",
        "The same, but all readers subscribe to one task that waits for a message. The clock runs from that message until the last reader has the last event; p50 and p99 are from it to each reader's first chunk. One task follows another.",
    );
    let waits = bench.waits();
    for &readers in bench.plan.readers.iter().filter(|&&readers| readers > 1) {
        let database = bench.new_database();
        let memory = bench.serve(Store::Memory)?;
        let sqlite = bench.serve(Store::Sqlite(&database))?;
        let group = |&chunks: &u64| Group {
            ceiling: own_streams("ceiling", &bench.ceiling, waits, readers, chunks),
            others: vec![
                shared_stream("memory", &memory, waits, readers, chunks),
                shared_stream("SQLite", &sqlite, waits, readers, chunks),
            ],
        };
        let measured = in_turns(&bench.plan, &bench.processes, bench.plan.chunks.iter().map(group).collect());
        rows(report, readers, &bench.plan.chunks, &measured);
    }
    Ok(())
}

fn shared_stream<'a>(label: &str, server: &'a Server, waits: Waits, readers: usize, chunks: u64) -> Contender<'a> {
    let tasks = Tasks { text: format!("stream {chunks} size={SIZE} asks"), chunks, readers };
    Contender::new(label, server, move |slice| shared::run(server.address(), waits, &tasks, slice))
}
