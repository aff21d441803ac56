//! Memory: what an idle stream costs, and what a kept task does.

use std::{thread, time::Duration};

use anyhow::{Result, ensure};

use super::streams::SIZE;
use crate::{
    bench::{Bench, Store},
    load::{
        call::{IdleStream, create_tasks},
        request::{TASK, Template, message, next_number},
        unary::Unary,
    },
    report::{Report, Row, Verdict, mebibytes, thousands},
    server::Server,
};

/// Tasks made before the first look at the memory, so that start-up costs are not counted.
const WARM: u64 = 2_000;
const CHUNKS: u64 = 100;
const MOST_FOR_IDLE: u64 = 200 * 1024 * 1024;
const IDLE: u64 = 10_000;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Memory",
        "Growth of the server's resident memory, in-memory store, HTTP/1.1. RSS is the whole server's at the end.",
    );
    parked_streams(bench, report)?;
    running_streams(bench, report)?;
    let echo = format!("echo {}", crate::load::request::NUMBER);
    kept_tasks(bench, report, "kept echo task", &echo, bench.plan.kept_echoes, None)?;
    let payload = CHUNKS * SIZE as u64;
    let stream = format!("stream {CHUNKS} size={SIZE}");
    let most = 2 * payload + 2 * 1024;
    kept_tasks(bench, report, "kept task of 100 chunks", &stream, bench.plan.kept_streams, Some(most))
}

/// Streams of tasks that wait for input: no agent runs.
fn parked_streams(bench: &Bench, report: &mut Report) -> Result<()> {
    let server = bench.serve(Store::Memory)?;
    let count = bench.plan.idle_streams;
    let parked = Unary::send("input", "TASK_STATE_INPUT_REQUIRED");
    let ids = create_tasks(server.address(), count as u64, parked)?;
    let subscribe = Template::jsonrpc_about("SubscribeToTask", &format!(r#""id":"{TASK}""#), ids.into())?;
    idle_streams(report, &server, "idle streams of parked tasks", subscribe, count)
}

/// Streams of tasks whose agent is silent: one runs for each.
fn running_streams(bench: &Bench, report: &mut Report) -> Result<()> {
    let server = bench.serve(Store::Memory)?;
    create_tasks(server.address(), WARM, Unary::echo_jsonrpc())?;
    let request = Template::jsonrpc("SendStreamingMessage", &message("slow 300"));
    let count = bench.plan.idle_streams;
    idle_streams(report, &server, "idle streams of running tasks", request, count)
}

fn idle_streams(report: &mut Report, server: &Server, what: &str, mut request: Template, count: usize) -> Result<()> {
    let before = settled(server)?;
    let mut streams = (0..count)
        .map(|_| IdleStream::open(server.address(), &mut request, next_number()))
        .collect::<Result<Vec<_>>>()?;
    let grown = settled(server)?.saturating_sub(before);
    let open = streams.iter_mut().filter_map(|stream| stream.is_open().then_some(())).count();
    ensure!(open == count, "{open} of {count} idle streams were still open");
    let verdicts =
        if count as u64 == IDLE { vec![Verdict::new("< 200 MiB", grown < MOST_FOR_IDLE)] } else { Vec::new() };
    let each = grown / (count as u64).max(1);
    row(report, server, what, count as u64, format!("{} ({each} B each)", mebibytes(grown)), verdicts)
}

fn kept_tasks(bench: &Bench, report: &mut Report, what: &str, text: &str, count: u64, most: Option<u64>) -> Result<()> {
    let server = bench.serve(Store::Memory)?;
    let make = |count| create_tasks(server.address(), count, Unary::send(text, "TASK_STATE_COMPLETED"));
    make(WARM)?;
    let before = settled(&server)?;
    make(count)?;
    let each = settled(&server)?.saturating_sub(before) / count.max(1);
    let verdicts = most.map(|most| Verdict::new(format!("≤ {} B", thousands(most as f64)), each <= most));
    let figure = format!("{} B each", thousands(each as f64));
    row(report, &server, what, count, figure, verdicts.into_iter().collect())
}

fn row(
    report: &mut Report,
    server: &Server,
    what: &str,
    count: u64,
    figure: String,
    verdicts: Vec<Verdict>,
) -> Result<()> {
    report.row(Row {
        what: what.to_owned(),
        load: thousands(count as f64),
        figure,
        resident: mebibytes(server.resident()?),
        verdicts,
        ..Row::default()
    });
    Ok(())
}

/// Resident memory once the server had a moment to tidy up.
fn settled(server: &Server) -> Result<u64> {
    thread::sleep(Duration::from_millis(500));
    server.resident()
}
