//! What a live task holds, as it is counted among what all hold.

use std::sync::Arc;

use nuncio_model::{Error, Task};

use super::Live;
use crate::{admission::Gauge, size};

impl Live {
    /// Counts so many bytes for it, if there may be.
    pub(crate) fn hold(&self, gauge: &Arc<Gauge>, bytes: usize) -> Result<(), Error> {
        let mut inner = self.lock();
        if let Some(held) = &mut inner.held {
            return held.grow(bytes.saturating_sub(held.amount()));
        }
        inner.held = Some(gauge.take(&self.scope.principal, bytes)?);
        Ok(())
    }

    /// Counts so many bytes for it, whether there may be or not.
    pub(crate) fn hold_anyway(&self, gauge: &Arc<Gauge>, bytes: usize) {
        let mut inner = self.lock();
        let held = inner.held.get_or_insert_with(|| gauge.none(&self.scope.principal));
        held.grow_anyway(bytes.saturating_sub(held.amount()));
    }

    /// Whether it has no task any more, though it had one.
    pub(crate) fn is_shed(&self) -> bool {
        self.lock().is_shed
    }

    /// Has its task again, as the store has it.
    pub(crate) fn restore(&self, task: Arc<Task>, gauge: &Arc<Gauge>) {
        self.hold_anyway(gauge, size::of_task(&task));
        let mut inner = self.lock();
        if inner.is_shed {
            inner.is_shed = false;
            inner.task = task;
        }
    }
}
