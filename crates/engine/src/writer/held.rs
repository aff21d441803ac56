//! What a task at work holds in memory, counted among what all of them hold.

use nuncio_model::Error;

use super::LogWriter;

/// A task that holds no more than this is not counted: whatever runs for a turn takes about as much.
pub(super) const FREE: usize = 16 * 1024;

/// By how much the count of a task grows at least, so that few events change it.
const STEP: usize = 64 * 1024;

/// What a record takes in a task beside what it carries.
const AROUND: usize = 64;

impl LogWriter {
    /// Counts what the task holds once it carries so many bytes, if it may.
    pub(super) fn hold(&mut self, size: u64) -> Result<(), Error> {
        let holds = self.in_memory(size);
        if holds > self.counted {
            self.counted = self.live.hold(&self.shared.held, holds, STEP)?;
        }
        Ok(())
    }

    /// Counts what the task holds with what is staged, whether it may or not: its message was let in.
    pub(super) fn hold_anyway(&mut self) {
        let holds = self.in_memory(self.size);
        if holds > self.counted {
            self.live.hold_anyway(&self.shared.held, holds);
            self.counted = holds;
        }
    }

    fn in_memory(&self, size: u64) -> usize {
        let records = usize::try_from(self.staged()).unwrap_or(usize::MAX);
        usize::try_from(size).unwrap_or(usize::MAX).saturating_add(records.saturating_mul(AROUND))
    }
}
