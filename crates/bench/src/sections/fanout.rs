//! Fan-out: many readers join one task before its first chunk and read it to the end.

use std::{cell::RefCell, time::Duration};

use anyhow::{Context as _, Result};

use super::streams::{SIZE, own_streams, verdicts};
use crate::{
    bench::{Bench, Store},
    load::{
        Slice, Until,
        call::create_task,
        request::{TASK, Template},
        sse::{self, Clock, Streams},
        unary::Unary,
        watch::Waits,
    },
    report::{Report, Row},
    server::Server,
    trial::{Contender, interleave},
};

/// How long the agent waits with its first chunk, for the readers to join.
const JOIN: Duration = Duration::from_millis(200);

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Streams, many readers of one task",
        "The same, but all readers subscribe to one task before its first chunk. The clock starts at the first chunk that any reader gets; p50 and p99 are how much later the others get theirs.",
    );
    let waits = bench.waits();
    for &readers in bench.plan.readers.iter().filter(|&&readers| readers > 1) {
        let database = bench.new_database();
        let memory = bench.serve(Store::Memory)?;
        let sqlite = bench.serve(Store::Sqlite(&database))?;
        let at_hundred = RefCell::new(Vec::new());
        for &chunks in &bench.plan.chunks {
            let contenders = vec![
                shared_stream("memory", &memory, waits, readers, chunks),
                shared_stream("SQLite", &sqlite, waits, readers, chunks),
            ];
            let ceiling = own_streams("ceiling", &bench.ceiling, waits, readers, chunks);
            let measured = interleave(&bench.plan, &bench.processes, ceiling, contenders);
            for one in &measured {
                let load = format!("{readers} x {chunks}");
                let verdicts = verdicts(one, &at_hundred.borrow(), chunks);
                report.row(Row::of(one, load, "events/s", verdicts));
            }
            if chunks == 100 {
                at_hundred.replace(measured);
            }
        }
    }
    Ok(())
}

fn shared_stream<'a>(label: &str, server: &'a Server, waits: Waits, readers: usize, chunks: u64) -> Contender<'a> {
    let after = JOIN.as_millis();
    let text = format!("stream {chunks} size={SIZE} after={after}");
    Contender::new(label, server, move |_| one_task(server, waits, &text, readers, chunks))
}

fn one_task(server: &Server, waits: Waits, text: &str, readers: usize, chunks: u64) -> Result<Slice> {
    let task = create_task(server.address(), Unary::send_and_return(text))?;
    let params = format!(r#""id":"{TASK}""#);
    let mut streams =
        Streams { request: Template::jsonrpc_about("SubscribeToTask", &params, [task].into())?, chunks, readers };
    let once = Until::Count(0);
    sse::run(server.address(), waits, &mut streams, once, Clock::FirstChunk)
        .with_context(|| format!("{readers} readers of one task"))
}
