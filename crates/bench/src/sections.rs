//! The measurements, one file per section, with their targets.

mod fanout;
mod first;
mod get;
mod list;
mod long;
mod memory;
mod nodes;
mod peers;
mod postgres;
mod send;
mod soak;
mod streams;
mod takeover;

use anyhow::Result;

use crate::{
    bench::Bench,
    load::{Until, http1, unary::Unary, watch::Waits},
    options::Word,
    report::Report,
    server::Server,
    trial::{Contender, Measured},
};

/// Runs a section; a failure becomes a refused row.
pub(crate) fn run(section: Word, bench: &Bench, report: &mut Report) {
    let outcome = match section {
        Word::Quick => Ok(()),
        Word::Send => send::run(bench, report),
        Word::Get => get::run(bench, report),
        Word::List => list::run(bench, report),
        Word::Streams => streams::run(bench, report),
        Word::Fanout => fanout::run(bench, report),
        Word::First => first::run(bench, report),
        Word::Memory => {
            memory::run(bench, report);
            Ok(())
        }
        Word::Postgres => postgres::run(bench, report),
        Word::Nodes => nodes::run(bench, report),
        Word::Takeover => takeover::run(bench, report),
        Word::Long => long::run(bench, report),
        Word::Peers => peers::run(bench, report),
    };
    if let Err(error) = outcome {
        report.refuse("the rest of this section", format!("{error:#}"));
    }
}

/// Runs the soak; a failure becomes a refused row.
pub(crate) fn soak(minutes: u64, bench: &Bench, report: &mut Report) {
    if let Err(error) = soak::run(minutes, bench, report) {
        report.refuse("soak", format!("{error:#}"));
    }
}

/// A contender for one kind of request.
fn unary<'a>(label: &str, server: &'a Server, waits: Waits, concurrency: usize, unary: Unary) -> Contender<'a> {
    let mut unary = unary;
    Contender::new(label, server, move |slice| {
        http1::run(server.address(), waits, concurrency, Until::Elapsed(slice), &mut unary)
    })
}

/// The ceiling with echo requests.
fn echo_ceiling(bench: &Bench, waits: Waits, concurrency: usize) -> Contender<'_> {
    unary("ceiling", &bench.ceiling, waits, concurrency, Unary::echo_jsonrpc())
}

/// The measurement with this label.
fn labelled<'a>(measured: &'a [Measured], label: &str) -> Option<&'a Measured> {
    measured.iter().find(|measured| measured.label == label)
}

/// The share of the ceiling in the measurement with this label; 0 if the measurement is missing or refused. Within a
/// table, shares are compared instead of rates, because the rates were not measured at the same time.
fn share(measured: &[Measured], label: &str) -> f64 {
    let labelled = labelled(measured, label).filter(|measured| measured.refused.is_none());
    labelled.and_then(|measured| measured.ratio).unwrap_or(0.0)
}

/// Numbers in a load column: `c=16`.
fn connections(concurrency: usize) -> String {
    format!("c={concurrency}")
}

/// Task ids in an order independent of their creation, the same in every run.
fn shuffled(mut ids: Vec<String>) -> Vec<String> {
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for position in (1..ids.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = usize::try_from((seed >> 33) % (position as u64 + 1));
        ids.swap(position, other.unwrap_or(0));
    }
    ids
}

/// The last created tasks, which are in every cache.
fn recent(ids: &[String]) -> Result<std::sync::Arc<[String]>> {
    let start = ids.len().saturating_sub(1_000);
    anyhow::ensure!(start < ids.len(), "no tasks were created");
    Ok(ids[start..].into())
}
