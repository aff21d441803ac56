//! Two nodes with one PostgreSQL: a task runs on one node and is read from the other node.

use std::time::Duration;

use anyhow::Result;
use nuncio_testbed::{Database, Postgres, Server as _};

use super::streams::SIZE;
use crate::{
    bench::{Bench, Store},
    load::{
        call::create_task,
        delay, histogram,
        request::{TASK, Template},
        sse::Streams,
        unary::Unary,
    },
    report::{Report, Row, Verdict, thousands, time},
    server::Server,
    services::{NO_NATS, NO_POSTGRES},
};

/// The chunks of a stream, and the milliseconds between two chunks.
const CHUNKS: u64 = 400;
const EVERY: u64 = 10;
/// The agent's delay before the first chunk, so that both readers can join.
const JOIN: u64 = 500;
const MOST: Duration = Duration::from_millis(3);
const LEASE: Duration = Duration::from_secs(10);

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Two nodes, a stream from the other",
        "A task runs on node A, a chunk of 64 bytes every 10 ms. It is read at A and at B; p50 and p99 are how much later a chunk comes at B.",
    );
    on_each_bus(bench, report, |bus, postgres, report| {
        report.row(delay_on(bench, postgres, bus)?);
        Ok(())
    })
}

/// The bus that wakes the nodes, with its name in the tables.
#[derive(Debug)]
pub(super) struct Bus {
    pub(super) label: &'static str,
    setting: String,
}

/// Measures with LISTEN/NOTIFY and with NATS, if installed.
pub(super) fn on_each_bus(
    bench: &Bench,
    report: &mut Report,
    measure: impl Fn(&Bus, &Postgres, &mut Report) -> Result<()>,
) -> Result<()> {
    let (by_postgres, by_nats) = ("bus postgres", "bus NATS");
    let Some(postgres) = bench.services.postgres()? else {
        report.skip(by_postgres, NO_POSTGRES);
        report.skip(by_nats, NO_POSTGRES);
        return Ok(());
    };
    let mut buses = vec![Bus { label: by_postgres, setting: "postgres".to_owned() }];
    match bench.services.nats()? {
        Some(nats) => buses.push(Bus { label: by_nats, setting: nats.url().to_owned() }),
        None => report.skip(by_nats, NO_NATS),
    }
    for bus in buses {
        if let Err(error) = measure(&bus, postgres, report) {
            report.refuse(bus.label, format!("{error:#}"));
        }
    }
    Ok(())
}

/// A node with this database.
pub(super) fn node(bench: &Bench, database: &Database, bus: &Bus, lease: Duration) -> Result<Server> {
    let lease = lease.as_secs().to_string();
    bench.serve_with(Store::Postgres(database.url()), &["--bus", &bus.setting, "--lease", &lease])
}

fn delay_on(bench: &Bench, postgres: &Postgres, bus: &Bus) -> Result<Row> {
    let database = postgres.database()?;
    let (a, b) = (node(bench, &database, bus, LEASE)?, node(bench, &database, bus, LEASE)?);
    let mut delays = histogram()?;
    for _ in 0..bench.plan.rounds {
        let text = format!("stream {CHUNKS} size={SIZE} every={EVERY} after={JOIN}");
        let task = create_task(a.address(), Unary::send_and_return(&text))?;
        let request = Template::jsonrpc_about("SubscribeToTask", &format!(r#""id":"{TASK}""#), [task].into())?;
        let mut streams = Streams { request, chunks: CHUNKS, readers: 2 };
        delays.add(delay::run(a.address(), b.address(), &mut streams)?)?;
    }
    let at = |quantile| Duration::from_nanos(delays.value_at_quantile(quantile));
    Ok(Row {
        what: bus.label.to_owned(),
        load: format!("1 x {CHUNKS}"),
        figure: format!("{} events", thousands(delays.len() as f64)),
        p50: time(at(0.5)),
        p99: time(at(0.99)),
        verdicts: vec![Verdict::new("p50 < 3 ms", at(0.5) < MOST)],
        ..Row::default()
    })
}
