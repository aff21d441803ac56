//! What a program writes to stderr: into the log, and the last of it into the reason of a failure.

use std::collections::VecDeque;

use tokio::process::ChildStderr;

use super::Pulse;
use crate::pieces::Pieces;

/// Lines that are kept.
const LINES: usize = 20;
/// Bytes of a line that are kept together; a longer one becomes several.
const LINE: usize = 1024;

/// The last lines of a program's stderr.
#[derive(Debug, Default)]
pub(crate) struct Tail(VecDeque<String>);

impl Tail {
    /// Reads to the end. Every line goes to the log, with the target `agent`.
    pub(crate) async fn read(&mut self, stderr: ChildStderr, pulse: &Pulse, task: &str) {
        let mut lines = Pieces::new(stderr, b"\n", LINE);
        // An error ends it: what could be read is all that there is.
        while let Ok(Some(line)) = lines.next().await {
            pulse.beat();
            let line = String::from_utf8_lossy(&line.bytes).trim_end_matches('\r').to_owned();
            tracing::info!(target: "agent", task, "{line}");
            if self.0.len() == LINES {
                self.0.pop_front();
            }
            self.0.push_back(line);
        }
    }

    /// A reason, with the last lines below it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_followed_by_the_last_lines() {
        assert_eq!(Tail::default().explain("it ended"), "it ended");
        let tail = Tail(["one".to_owned(), "two".to_owned(), String::new()].into());
        assert_eq!(tail.explain("it ended"), "it ended\none\ntwo");
    }
}
