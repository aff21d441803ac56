//! Long tasks: whether an event costs more when many came before it.

use anyhow::Result;
use nuncio_testbed::Database;

use super::streams::own_streams;
use crate::{
    bench::{Bench, Store},
    load::watch::Waits,
    report::{Report, Row, Verdict},
    server::Server,
    services::NO_POSTGRES,
    trial::{Measured, interleave},
};

const SHORT: u64 = 1_000;
const LONG: u64 = 100_000;
const LEAST_OF_SHORT: f64 = 0.9;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Long tasks",
        "One reader of its own streams of 64-byte chunks, short and long, from servers with nothing else to do.",
    );
    let sqlite_path = bench.new_database();
    let memory = bench.serve(Store::Memory)?;
    let sqlite = bench.serve(Store::Sqlite(&sqlite_path))?;
    let mut servers = vec![("memory", &memory), ("SQLite", &sqlite)];
    let postgres = on_postgres(bench);
    match &postgres {
        Ok(Some((postgres, _))) => servers.push(("PostgreSQL", postgres)),
        Ok(None) => report.skip("PostgreSQL", NO_POSTGRES),
        Err(error) => report.refuse("PostgreSQL", format!("{error:#}")),
    }
    let mut short = Vec::new();
    for chunks in [SHORT, LONG] {
        let contenders =
            servers.iter().map(|(label, server)| own_streams(label, server, Waits::Asleep, 1, chunks)).collect();
        let ceiling = own_streams("ceiling", &bench.ceiling, Waits::Asleep, 1, chunks);
        let measured = interleave(&bench.plan, &bench.processes, ceiling, contenders);
        for one in &measured {
            report.row(Row::of(one, format!("1 x {chunks}"), "events/s", verdicts(one, &short)));
        }
        short = measured;
    }
    Ok(())
}

/// A server with its database; none when there is no PostgreSQL.
fn on_postgres(bench: &Bench) -> Result<Option<(Server, Database)>> {
    let Some(postgres) = bench.services.postgres()? else {
        return Ok(None);
    };
    let database = postgres.database()?;
    Ok(Some((bench.serve(Store::Postgres(database.url()))?, database)))
}

/// As many events a second as in a short task; nothing to compare before there is one.
fn verdicts(one: &Measured, short: &[Measured]) -> Vec<Verdict> {
    let before = super::rate(short, &one.label);
    if one.label == "ceiling" || before <= 0.0 {
        return Vec::new();
    }
    vec![Verdict::new(format!("≥ {LEAST_OF_SHORT} of 1,000 chunks"), one.rate >= LEAST_OF_SHORT * before)]
}
