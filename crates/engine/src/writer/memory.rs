//! The memory of a task at work, counted among the memory of all tasks at work.

use nuncio_model::Error;

use super::LogWriter;

/// A task of this size or less is not counted: the other data of a turn takes about as much memory.
pub(super) const FREE: usize = 16 * 1024;

/// The least growth of the count of a task, so that few events change the count.
const STEP: usize = 64 * 1024;

/// The memory of a record in a task beside the content of the record.
const AROUND: usize = 64;

impl LogWriter {
    /// Reserves memory for a task that carries this number of bytes. Fails at the limit.
    pub(super) fn reserve(&mut self, size: u64) -> Result<(), Error> {
        let needed = self.in_memory(size);
        if needed > self.counted {
            self.counted = self.live.reserve(&self.shared.memory, needed, STEP)?;
        }
        Ok(())
    }

    /// Counts the memory of the task with all staged records, even above the limit: the message was already accepted.
    pub(super) fn reserve_anyway(&mut self) {
        let needed = self.in_memory(self.size);
        if needed > self.counted {
            self.live.reserve_anyway(&self.shared.memory, needed);
            self.counted = needed;
        }
    }

    fn in_memory(&self, size: u64) -> usize {
        let records = usize::try_from(self.staged()).unwrap_or(usize::MAX);
        usize::try_from(size).unwrap_or(usize::MAX).saturating_add(records.saturating_mul(AROUND))
    }
}
