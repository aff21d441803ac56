//! The limits of a program.

use std::time::Duration;

/// The limits of a program. If a limit is exceeded, the turn fails with a reason that names the limit, and the program
/// is killed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProgramLimits {
    /// The number of concurrent processes of the program. Further turns wait for a place; the time limit of a turn
    /// starts with the place. 256.
    pub processes: usize,
    /// The size of a line or a piece of output, in bytes; also the size of the buffer. 10 MiB.
    pub piece: usize,
    /// Bytes of output in one turn. 1 GiB.
    pub output: u64,
    /// The number of stderr lines per second in the log, over all turns of the program. Further lines are omitted and
    /// counted. 1,000.
    pub log_lines: usize,
    /// The time limit of a turn. No limit.
    pub time: Option<Duration>,
    /// The maximum time without output on stdout or stderr. No limit.
    pub silence: Option<Duration>,
    /// The grace period for a program that was requested to stop. 1 s.
    ///
    /// On a cancellation, a program gets SIGTERM, and SIGKILL after the grace period. A program with JSON lines first
    /// gets a line, then SIGTERM after the grace period, and SIGKILL after a further half of the grace period. The
    /// engine's own grace period (`Limits::cancel_grace`, 2 s) should be longer, because at its end the program is
    /// killed immediately.
    pub grace: Duration,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            processes: 256,
            piece: 10 << 20,
            output: 1 << 30,
            log_lines: 1_000,
            time: None,
            silence: None,
            grace: Duration::from_secs(1),
        }
    }
}

impl ProgramLimits {
    /// Limits the number of concurrent processes; 0 counts as 1.
    pub fn with_processes(mut self, processes: usize) -> Self {
        self.processes = processes;
        self
    }

    /// Limits the size of a line or a piece of output.
    pub fn with_piece(mut self, bytes: usize) -> Self {
        self.piece = bytes;
        self
    }

    /// Limits the output of a turn.
    pub fn with_output(mut self, bytes: u64) -> Self {
        self.output = bytes;
        self
    }

    /// Limits the stderr lines per second in the log.
    pub fn with_log_lines(mut self, lines: usize) -> Self {
        self.log_lines = lines;
        self
    }

    /// Limits the time of a turn.
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Limits the time without output.
    pub fn with_silence(mut self, silence: Duration) -> Self {
        self.silence = Some(silence);
        self
    }

    /// Sets the grace period for a program that was requested to stop.
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}
