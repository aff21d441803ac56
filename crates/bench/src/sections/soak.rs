//! Soak: half of the maximum load for a long time; the memory must not grow.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::streams::SIZE;
use crate::{
    bench::{Bench, Store},
    load::{
        Until, http1,
        request::{Template, message},
        sse::{self, Streams},
        unary::Unary,
        watch::Waits,
    },
    report::{Report, Row, Verdict, mebibytes, shares, thousands},
    server::Server,
};

/// The memory is judged after this time: the caches are then full, and deletions balance new tasks.
const SETTLE: Duration = Duration::from_mins(5);
/// A soak shorter than this reports the slope without a verdict.
const SHORTEST: Duration = Duration::from_mins(10);
const SAMPLE: Duration = Duration::from_secs(5);
/// The maximum growth in the judged time: this share, or the absolute amount below.
const MOST_SHARE: f64 = 0.05;
const MOST_BYTES: f64 = 8.0 * 1024.0 * 1024.0;
/// The duration of the load without pauses that determines the maximum load.
const TRIAL: Duration = Duration::from_secs(10);
/// One step of the load: echoes over 16 connections, then streams of 100 chunks on separate connections.
const ECHOES: u64 = 500;
const STREAMS: u64 = 16;
const CHUNKS: u64 = 100;

pub(super) fn run(minutes: u64, bench: &Bench, report: &mut Report) -> Result<()> {
    report.table(
        "Soak",
        "Echoes and streams of 100 chunks at half of what the server can do, SQLite, tasks deleted after a minute. The figure is the slope of resident memory after the first five minutes, in a short soak after its first half.",
    );
    let length = Duration::from_mins(minutes);
    let is_judged = length >= SHORTEST;
    let settle = SETTLE.min(length / 2);
    let database = bench.new_database();
    let server = bench.serve_with(Store::Sqlite(&database), &["--retention", "1m", "--log-retention", "30s"])?;
    let mut load = Load::new();
    let pace = load.at_full(&server)? * 2;
    println!("  a step every {} ms; {minutes} min", pace.as_millis());

    let meter = bench.processes.meter(server.process());
    let started = Instant::now();
    let (mut steps, mut samples, mut reported) = (0_u32, Vec::new(), 0);
    let mut due = started;
    while started.elapsed() < length {
        load.step(&server)?;
        steps += 1;
        let elapsed = started.elapsed();
        if elapsed.as_secs() >= SAMPLE.as_secs() * samples.len() as u64 {
            samples.push((elapsed, server.resident()?));
        }
        if elapsed.as_secs() / 60 > reported {
            reported = elapsed.as_secs() / 60;
            println!("  {reported:>4} min: {}", mebibytes(server.resident()?));
        }
        // A late step is not compensated, so the load is at most half of the maximum.
        let now = Instant::now();
        due = now.max(due + pace);
        thread::sleep(due - now);
    }
    let usage = meter.read();
    let last = server.resident()?;
    samples.retain(|(at, _)| *at >= settle);
    let slope = slope(&samples);
    report.row(Row {
        what: format!("SQLite, {} echoes/s", thousands(ECHOES as f64 * f64::from(steps) / length.as_secs_f64())),
        load: format!("{minutes} min"),
        figure: format!("{:.0} KiB/min", slope * 60.0 / 1024.0),
        resident: mebibytes(last),
        cpu: shares(usage),
        verdicts: if is_judged { vec![flat(&samples, slope)] } else { Vec::new() },
        ..Row::default()
    });
    Ok(())
}

/// Whether the growth of memory, by a linear fit, is within the limit.
fn flat(samples: &[(Duration, u64)], slope: f64) -> Verdict {
    let ends = samples.first().zip(samples.last());
    let seconds = ends.map_or(0.0, |((first, _), (last, _))| last.saturating_sub(*first).as_secs_f64());
    let level = samples.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>() / samples.len().max(1) as f64;
    let most = MOST_BYTES.max(MOST_SHARE * level);
    let target = format!("grows by ≤ {:.0} % or 8 MiB", MOST_SHARE * 100.0);
    Verdict::new(target, samples.len() > 2 && slope * seconds <= most)
}

/// The repeated step of load.
struct Load {
    echo: Unary,
    streams: Streams,
}

impl Load {
    fn new() -> Self {
        let text = format!("stream {CHUNKS} size={SIZE}");
        let request = Template::jsonrpc("SendStreamingMessage", &message(&text));
        Self { echo: Unary::echo_jsonrpc(), streams: Streams { request, chunks: CHUNKS, readers: 4 } }
    }

    fn step(&mut self, server: &Server) -> Result<()> {
        http1::run(server.address(), Waits::Asleep, 16, Until::Count(ECHOES), &mut self.echo)?;
        sse::run(server.address(), Waits::Asleep, &mut self.streams, Until::Count(STREAMS))?;
        Ok(())
    }

    /// The duration of a step without pauses.
    fn at_full(&mut self, server: &Server) -> Result<Duration> {
        let started = Instant::now();
        let mut steps = 0;
        while started.elapsed() < TRIAL {
            self.step(server)?;
            steps += 1;
        }
        Ok(started.elapsed() / steps)
    }
}

/// The slope in bytes per second, by least squares; 0 for fewer than two samples.
fn slope(samples: &[(Duration, u64)]) -> f64 {
    let count = samples.len().max(1) as f64;
    let points = || samples.iter().map(|(at, bytes)| (at.as_secs_f64(), *bytes as f64));
    let (time, size) = points().fold((0.0, 0.0), |(time, size), (x, y)| (time + x / count, size + y / count));
    let (covariance, variance) = points().fold((0.0, 0.0), |(covariance, variance), (x, y)| {
        (covariance + (x - time) * (y - size), variance + (x - time) * (x - time))
    });
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_is_not_flat_memory() {
        const MEBIBYTE: u64 = 1024 * 1024;
        let rising = |by: u64| {
            let samples: Vec<_> =
                (0..=300).map(|step| (Duration::from_secs(step * 5), (100 + step * by / 300) * MEBIBYTE)).collect();
            flat(&samples, slope(&samples)).met
        };
        assert!(rising(0) && rising(7));
        assert!(!rising(12));
        assert!(!flat(&[], 0.0).met);
    }

    #[test]
    fn the_slope_depends_on_all_samples() {
        let at = |seconds| Duration::from_secs(seconds);
        let steady = [(at(0), 100), (at(10), 120), (at(20), 140), (at(30), 160)];
        assert!((slope(&steady) - 2.0).abs() < 1e-9);
        let noisy = [(at(0), 100), (at(10), 110), (at(20), 110), (at(30), 100)];
        assert!(slope(&noisy).abs() < 1e-9);
        assert!(slope(&steady[..1]).abs() < 1e-9);
    }
}
