//! A limit for log lines that come with calls and tasks, so that a busy server does not write without end.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// Lines of one kind in one second.
pub const LINES_PER_SECOND: u64 = 200;

/// Counts log lines of one kind by second.
#[derive(Debug, Default)]
pub struct LineLimit {
    start: OnceLock<Instant>,
    second: AtomicU64,
    count: AtomicU64,
}

impl LineLimit {
    /// No line yet.
    pub const fn new() -> Self {
        Self { start: OnceLock::new(), second: AtomicU64::new(0), count: AtomicU64::new(0) }
    }

    /// Takes one of the [`LINES_PER_SECOND`] lines of this second, if one is left. The second value is how many lines
    /// were omitted in an earlier second, and is told once.
    pub fn take(&self) -> (bool, u64) {
        self.take_at(self.start.get_or_init(Instant::now).elapsed().as_secs())
    }

    /// At the border of two seconds, counts may be off by the calls that are counted at that moment.
    fn take_at(&self, second: u64) -> (bool, u64) {
        let before = self.second.load(Ordering::Relaxed);
        let mut omitted = 0;
        if before != second
            && self.second.compare_exchange(before, second, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            omitted = self.count.swap(0, Ordering::Relaxed).saturating_sub(LINES_PER_SECOND);
        }
        (self.count.fetch_add(1, Ordering::Relaxed) < LINES_PER_SECOND, omitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_lines_and_the_next_tells_what_was_omitted() {
        let lines = LineLimit::new();
        let taken = (0..LINES_PER_SECOND + 50).map(|_| u64::from(lines.take_at(7).0)).sum::<u64>();
        assert_eq!(taken, LINES_PER_SECOND);
        assert_eq!(lines.take_at(8), (true, 50));
        assert_eq!(lines.take_at(8), (true, 0));
        assert_eq!(lines.take_at(9), (true, 0));
    }
}
