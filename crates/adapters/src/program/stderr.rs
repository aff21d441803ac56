//! The stderr of a program: all lines go to the log, and the last lines into the reason of a failure.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::process::ChildStderr;

use super::Pulse;
use crate::pieces::Pieces;

/// The number of stored lines.
const LINES: usize = 20;
/// The maximum length of a stored line; a longer line is split.
const LINE: usize = 1024;

/// The last lines of a program's stderr.
#[derive(Debug, Default)]
pub(crate) struct Tail(VecDeque<String>);

impl Tail {
    /// Reads to the end. Lines go to the log with the target `agent`, within the rate limit.
    pub(crate) async fn read(&mut self, stderr: ChildStderr, pulse: &Pulse, task: &str, rate: &LogRate) {
        let mut lines = Pieces::new(stderr, b"\n", LINE);
        // A read error ends the loop; the lines so far are kept.
        while let Ok(Some(line)) = lines.next().await {
            pulse.beat();
            let line = String::from_utf8_lossy(&line.bytes).trim_end_matches('\r').to_owned();
            if let Some(omitted) = rate.pass(Instant::now()) {
                log_omitted(omitted, task);
                tracing::info!(target: "agent", task, "{line}");
            }
            if self.0.len() == LINES {
                self.0.pop_front();
            }
            self.0.push_back(line);
        }
        log_omitted(rate.take_omitted(), task);
    }

    /// A reason, followed by the last lines.
    pub(crate) fn explain(&self, reason: impl std::fmt::Display) -> String {
        let mut text = reason.to_string();
        for line in &self.0 {
            text.push('\n');
            text.push_str(line);
        }
        text.truncate(text.trim_end().len());
        text
    }
}

fn log_omitted(omitted: u64, task: &str) {
    if omitted > 0 {
        tracing::warn!(
            target: "agent",
            task,
            omitted,
            "programs: stderr exceeds program.log_lines; lines were omitted from the log"
        );
    }
}

/// The rate limit for stderr lines in the log, over all turns of a program.
#[derive(Debug)]
pub(crate) struct LogRate {
    most: usize,
    second: Mutex<Second>,
}

#[derive(Debug, Default)]
struct Second {
    begun: Option<Instant>,
    passed: usize,
    omitted: u64,
}

impl LogRate {
    pub(super) fn new(most: usize) -> Self {
        Self { most, second: Mutex::default() }
    }

    /// Counts a line. `Some` if the line may be logged, with the number of omitted lines before.
    fn pass(&self, now: Instant) -> Option<u64> {
        let mut second = self.second.lock();
        if second.begun.is_none_or(|begun| now.duration_since(begun) >= Duration::from_secs(1)) {
            second.begun = Some(now);
            second.passed = 0;
        }
        if second.passed >= self.most {
            second.omitted += 1;
            return None;
        }
        second.passed += 1;
        Some(std::mem::take(&mut second.omitted))
    }

    /// The number of omitted lines that were not yet reported.
    fn take_omitted(&self) -> u64 {
        std::mem::take(&mut self.second.lock().omitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_over_the_rate_limit_are_omitted_and_counted() {
        let (rate, begun) = (LogRate::new(3), Instant::now());
        let pass = |millis, lines| -> Vec<_> {
            (0..lines).map(|_| rate.pass(begun + Duration::from_millis(millis))).collect()
        };
        assert_eq!(pass(0, 5), [Some(0), Some(0), Some(0), None, None]);
        assert_eq!(pass(999, 1), [None]);
        assert_eq!(pass(1_000, 2), [Some(3), Some(0)]);
        assert_eq!(pass(1_999, 3), [Some(0), None, None]);
        assert_eq!((rate.take_omitted(), rate.take_omitted()), (2, 0));
        assert_eq!(pass(5_000, 1), [Some(0)]);
    }

    #[test]
    fn a_reason_is_followed_by_the_last_lines() {
        assert_eq!(Tail::default().explain("it ended"), "it ended");
        let tail = Tail(["one".to_owned(), "two".to_owned(), String::new()].into());
        assert_eq!(tail.explain("it ended"), "it ended\none\ntwo");
    }
}
