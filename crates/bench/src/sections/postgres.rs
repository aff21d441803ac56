//! PostgreSQL: the three-event echo with synchronous commits.

use anyhow::Result;

use super::{connections, echo_ceiling, unary};
use crate::{
    bench::{Bench, Store},
    load::{unary::Unary, watch::Waits},
    report::{Report, Row, Verdict},
    services::NO_POSTGRES,
    trial::interleave,
};

const LABEL: &str = "JSON-RPC, PostgreSQL";
const LEAST_OF_CEILING: f64 = 0.12;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "SendMessage, PostgreSQL",
        "The three-event echo, blocking, with a private PostgreSQL that syncs. PostgreSQL runs on either core, wherever there is room; CPU % and RSS are Nuncio's.",
    );
    let Some(postgres) = bench.services.postgres()? else {
        report.skip(LABEL, NO_POSTGRES);
        return Ok(());
    };
    for &concurrency in &bench.plan.concurrency {
        let database = postgres.database()?;
        let server = bench.serve(Store::Postgres(database.url()))?;
        let contenders = vec![unary(LABEL, &server, Waits::Asleep, concurrency, Unary::echo_jsonrpc())];
        for one in
            interleave(&bench.plan, &bench.processes, echo_ceiling(bench, Waits::Asleep, concurrency), contenders)
        {
            let is_judged = one.label == LABEL && concurrency == 64;
            let verdicts = if is_judged { vec![Verdict::of_ceiling(&one, LEAST_OF_CEILING)] } else { Vec::new() };
            report.row(Row::of(&one, connections(concurrency), "req/s", verdicts));
        }
    }
    Ok(())
}
