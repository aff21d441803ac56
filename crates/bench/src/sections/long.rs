//! Long tasks: whether the cost of an event grows with the number of earlier events.

use anyhow::{Result, bail};
use nuncio_testbed::Database;

use super::streams::own_streams;
use crate::{
    bench::{Bench, Store},
    load::watch::Waits,
    options::Plan,
    report::{Report, Row, Verdict},
    server::Server,
    services::NO_POSTGRES,
    trial::{Group, Measured, in_turns},
};

const SHORT: u64 = 1_000;
const LONG: u64 = 100_000;
const LEAST_OF_SHORT: f64 = 0.9;
/// PostgreSQL on both cores makes a round less precise than in other sections.
const MORE_ROUNDS: usize = 2;

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
    let group = |chunks| Group {
        ceiling: own_streams("ceiling", &bench.ceiling, Waits::Asleep, 1, chunks),
        others: servers.iter().map(|(label, server)| own_streams(label, server, Waits::Asleep, 1, chunks)).collect(),
    };
    let plan = Plan { rounds: bench.plan.rounds + MORE_ROUNDS, ..bench.plan.clone() };
    let measured = in_turns(&plan, &bench.processes, [SHORT, LONG].map(group).into());
    let [short, long] = &measured[..] else { bail!("expected two groups") };
    for one in short {
        report.row(Row::of(one, format!("1 x {SHORT}"), "events/s", Vec::new()));
    }
    for one in long {
        report.row(Row::of(one, format!("1 x {LONG}"), "events/s", verdicts(one, short)));
    }
    Ok(())
}

/// A server with its database; `None` if PostgreSQL is not installed.
fn on_postgres(bench: &Bench) -> Result<Option<(Server, Database)>> {
    let Some(postgres) = bench.services.postgres()? else {
        return Ok(None);
    };
    let database = postgres.database()?;
    Ok(Some((bench.serve(Store::Postgres(database.url()))?, database)))
}

/// The rate must equal the rate of a short task.
fn verdicts(one: &Measured, short: &[Measured]) -> Vec<Verdict> {
    match super::labelled(short, &one.label).and_then(|short| one.by(short)) {
        Some(share) if one.label != "ceiling" => {
            vec![Verdict::new(format!("≥ {LEAST_OF_SHORT} of 1,000 chunks"), share >= LEAST_OF_SHORT)]
        }
        _ => Vec::new(),
    }
}
