//! What bounds a program.

use std::time::Duration;

/// The limits of a program. Beyond one of them the turn fails with a reason that names it, and the program is killed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProgramLimits {
    /// How many of it run at the same time; a turn beyond waits for a place, and its own time begins when it has one.
    /// 256.
    pub processes: usize,
    /// Bytes of one line or piece of output; that much is buffered at most. 10 MiB.
    pub piece: usize,
    /// Bytes of output in one turn. 1 GiB.
    pub output: u64,
    /// Lines of stderr that all turns of the program write to the log in a second; more are left out and counted. 1,000.
    pub log_lines: usize,
    /// How long a turn may take. No limit.
    pub time: Option<Duration>,
    /// How long it may write nothing, neither output nor to stderr. No limit.
    pub silence: Option<Duration>,
    /// How long it may go on after it was told to stop. 1 s.
    ///
    /// On a cancel a program is told by SIGTERM, and killed after the grace. One that speaks JSON lines is told by a
    /// line first, by SIGTERM after the grace, and killed after half as long again. The engine's own grace
    /// (`Limits::cancel_grace`, 2 s) should be longer than that: when it ends, the program is killed at once.
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
    /// Bounds how many run at the same time; 0 counts as 1.
    pub fn with_processes(mut self, processes: usize) -> Self {
        self.processes = processes;
        self
    }

    /// Bounds one line or piece of output.
    pub fn with_piece(mut self, bytes: usize) -> Self {
        self.piece = bytes;
        self
    }

    /// Bounds the output of a turn.
    pub fn with_output(mut self, bytes: u64) -> Self {
        self.output = bytes;
        self
    }

    /// Bounds the lines of stderr that go to the log in a second.
    pub fn with_log_lines(mut self, lines: usize) -> Self {
        self.log_lines = lines;
        self
    }

    /// Bounds the time of a turn.
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Bounds how long it may write nothing.
    pub fn with_silence(mut self, silence: Duration) -> Self {
        self.silence = Some(silence);
        self
    }

    /// Sets how long it may go on after it was told to stop.
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
}
