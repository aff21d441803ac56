//! Memory: the cost of an idle stream and of a stored task.

use std::{thread, time::Duration};

use anyhow::{Result, ensure};

use super::streams::SIZE;
use crate::{
    bench::{Bench, Store},
    load::{
        call::{IdleStream, create_tasks},
        request::{NUMBER, TASK, Template, message, next_number},
        unary::Unary,
    },
    report::{Report, Row, Verdict, mebibytes, thousands},
    server::Server,
};

/// Tasks before the first measurement, so that the cost of the start is not counted.
const WARM: u64 = 2_000;
const CHUNKS: u64 = 100;
const MOST_FOR_IDLE: u64 = 200 * 1024 * 1024;

pub(super) fn run(bench: &Bench, report: &mut Report) {
    report.table(
        "Memory",
        "Growth of the server's resident memory, in-memory store, HTTP/1.1. RSS is the whole server's at the end.",
    );
    let echo = KeptTasks { text: format!("echo {NUMBER}"), count: bench.plan.kept_echoes, most: None };
    let stream = KeptTasks {
        text: format!("stream {CHUNKS} size={SIZE}"),
        count: bench.plan.kept_streams,
        most: Some(2 * CHUNKS * SIZE as u64 + 2 * 1024),
    };
    let mut row = |what: &str, outcome: Result<Row>| match outcome {
        Ok(row) => report.row(Row { what: what.to_owned(), ..row }),
        Err(error) => report.refuse(what, format!("{error:#}")),
    };
    row("idle streams of parked tasks", parked_streams(bench));
    row("idle streams of running tasks", running_streams(bench));
    row("kept echo task", echo.measure(bench));
    row("kept task of 100 chunks", stream.measure(bench));
}

/// Streams of tasks that wait for input: no agent is running.
fn parked_streams(bench: &Bench) -> Result<Row> {
    let server = bench.serve(Store::Memory)?;
    let count = bench.plan.idle_streams;
    let parked = Unary::send("input", "TASK_STATE_INPUT_REQUIRED");
    let ids = create_tasks(server.address(), count as u64, parked)?;
    let subscribe = Template::jsonrpc_about("SubscribeToTask", &format!(r#""id":"{TASK}""#), ids.into())?;
    idle_streams(&server, subscribe, count)
}

/// Streams of tasks with a slow agent: one agent runs for each task.
fn running_streams(bench: &Bench) -> Result<Row> {
    let server = bench.serve(Store::Memory)?;
    create_tasks(server.address(), WARM, Unary::echo_jsonrpc())?;
    let request = Template::jsonrpc("SendStreamingMessage", &message("slow 300"));
    idle_streams(&server, request, bench.plan.idle_streams)
}

fn idle_streams(server: &Server, mut request: Template, count: usize) -> Result<Row> {
    let before = settled(server)?;
    let mut streams = (0..count)
        .map(|_| IdleStream::open(server.address(), &mut request, next_number()))
        .collect::<Result<Vec<_>>>()?;
    let after = settled(server)?;
    let grown = after.saturating_sub(before);
    let open = streams.iter_mut().filter_map(|stream| stream.check_open().then_some(())).count();
    ensure!(open == count, "{open} of {count} idle streams were still open");
    let each = grown / (count as u64).max(1);
    Ok(Row {
        load: thousands(count as f64),
        figure: mebibytes(grown),
        resident: mebibytes(after),
        verdicts: vec![Verdict::new(format!("< 200 MiB ({} B each)", thousands(each as f64)), grown < MOST_FOR_IDLE)],
        ..Row::default()
    })
}

/// Tasks of one kind that are stored after their end.
struct KeptTasks {
    text: String,
    count: u64,
    most: Option<u64>,
}

impl KeptTasks {
    fn measure(&self, bench: &Bench) -> Result<Row> {
        let server = bench.serve(Store::Memory)?;
        let make = |count| create_tasks(server.address(), count, Unary::send(&self.text, "TASK_STATE_COMPLETED"));
        make(WARM)?;
        let before = settled(&server)?;
        make(self.count)?;
        let after = settled(&server)?;
        let each = after.saturating_sub(before) / self.count.max(1);
        let verdict = |most: u64| Verdict::new(format!("≤ {} B", thousands(most as f64)), each <= most);
        Ok(Row {
            load: thousands(self.count as f64),
            figure: format!("{} B each", thousands(each as f64)),
            resident: mebibytes(after),
            verdicts: self.most.map(verdict).into_iter().collect(),
            ..Row::default()
        })
    }
}

/// The resident memory after a short idle time for cleanup.
fn settled(server: &Server) -> Result<u64> {
    thread::sleep(Duration::from_millis(500));
    server.resident()
}
