//! Takeover: the working node is killed, and the other node reports the result of its tasks.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use nuncio_testbed::Postgres;

use super::nodes::{Bus, node, on_each_bus};
use crate::{
    bench::Bench,
    load::{
        call::{IdleStream, create_tasks},
        request::{TASK, Template, next_number},
        unary::Unary,
    },
    report::{Report, Row, Verdict, time},
};

const LEASE: Duration = Duration::from_secs(2);
/// The maximum time after the lease until the last task's result.
const SLACK: Duration = Duration::from_secs(2);
/// The maximum wait for a task, to report the delay of a late task.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const TASKS: usize = 16;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Takeover",
        "Node A has 16 tasks at work and is killed. The figure is the time until a reader at node B knows the last of them to have failed, the longest of the rounds; the lease is 2 s.",
    );
    on_each_bus(bench, report, |bus, postgres, report| {
        report.row(takeover_on(bench, postgres, bus)?);
        Ok(())
    })
}

fn takeover_on(bench: &Bench, postgres: &Postgres, bus: &Bus) -> Result<Row> {
    let rounds = (0..bench.plan.rounds).map(|_| once(bench, postgres, bus)).collect::<Result<Vec<_>>>()?;
    let longest = rounds.into_iter().max().context("no round was measured")?;
    let target = format!("≤ lease + {} s", SLACK.as_secs());
    Ok(Row {
        what: bus.label.to_owned(),
        load: format!("{TASKS} tasks"),
        figure: time(longest),
        verdicts: vec![Verdict::new(target, longest <= LEASE + SLACK)],
        ..Row::default()
    })
}

/// The time from the kill until the last task is reported as failed.
fn once(bench: &Bench, postgres: &Postgres, bus: &Bus) -> Result<Duration> {
    let database = postgres.database()?;
    let (a, b) = (node(bench, &database, bus, LEASE)?, node(bench, &database, bus, LEASE)?);
    let tasks = create_tasks(a.address(), TASKS as u64, Unary::send_and_return("slow 600"))?;
    let mut subscribe = Template::jsonrpc_about("SubscribeToTask", &format!(r#""id":"{TASK}""#), tasks.into())?;
    let mut streams = (0..TASKS)
        // Consecutive numbers belong to consecutive tasks, so each task has its own stream.
        .map(|_| IdleStream::open(b.address(), &mut subscribe, next_number()))
        .collect::<Result<Vec<_>>>()?;
    for stream in &mut streams {
        stream.await_text("TASK_STATE_WORKING", TIME_LIMIT)?;
    }
    let killed = Instant::now();
    a.kill()?;
    let mut last = killed;
    for stream in &mut streams {
        last = last.max(stream.await_text("TASK_STATE_FAILED", TIME_LIMIT)?);
    }
    Ok(last - killed)
}
