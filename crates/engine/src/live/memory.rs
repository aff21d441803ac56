//! The memory of a live task, counted among the memory of all tasks.

use std::sync::Arc;

use nuncio_limit::Gauge;
use nuncio_model::{Error, Task, weight};

use super::LiveTask;

impl LiveTask {
    /// Reserves this number of bytes for the task, or fails at the limit. The reservation grows by at least `step`, so that
    /// few changes of the task change the count. Returns the reserved bytes, which can be more than requested.
    pub(crate) fn reserve(&self, gauge: &Arc<Gauge>, bytes: usize, step: usize) -> Result<usize, Error> {
        let mut state = self.lock();
        let reserved = state.reserved.get_or_insert_with(|| gauge.none(&self.scope.principal));
        let more = bytes.saturating_sub(reserved.amount());
        if more > 0 {
            reserved.grow(more.max(step))?;
        }
        Ok(reserved.amount())
    }

    /// Reserves this number of bytes for the task, even above the limit.
    pub(crate) fn reserve_anyway(&self, gauge: &Arc<Gauge>, bytes: usize) {
        let mut state = self.lock();
        let reserved = state.reserved.get_or_insert_with(|| gauge.none(&self.scope.principal));
        reserved.grow_anyway(bytes.saturating_sub(reserved.amount()));
    }

    /// Whether the content of the task was evicted from memory.
    pub(crate) fn is_evicted(&self) -> bool {
        self.lock().is_evicted
    }

    /// Puts the task of the store in the place of an evicted task.
    pub(crate) fn restore(&self, task: Arc<Task>, gauge: &Arc<Gauge>) {
        self.reserve_anyway(gauge, weight::of_task(&task));
        let mut state = self.lock();
        if state.is_evicted {
            state.is_evicted = false;
            state.task = task;
        }
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{ErrorKind, Principal, Scope, Tenant};

    use super::*;
    use nuncio_limit::{Most, Quota};

    #[test]
    fn a_task_of_constant_size_is_not_refused_if_the_memory_is_exhausted() {
        let [in_all, per_caller] = ["memory", "memory_per_caller"].map(|name| Most::new(name, 100));
        let gauge = Gauge::new(Quota { what: "bytes", in_all, per_caller, kind: ErrorKind::ResourceExhausted });
        for principal in [Principal::Open, Principal::named("a")] {
            let live = LiveTask::made_here(Scope::new(Tenant::default(), principal), "task".into());
            live.reserve_anyway(&gauge, 150);
            assert_eq!(live.reserve(&gauge, 120, 64).unwrap(), 150);
            live.reserve(&gauge, 151, 64).unwrap_err();
            assert_eq!(gauge.count(), 150);
        }
    }

    #[test]
    fn a_task_grows_by_steps() {
        let gauge =
            Gauge::new(Quota { what: "bytes", in_all: Most::NONE, per_caller: Most::NONE, kind: ErrorKind::Internal });
        let live = LiveTask::made_here(Scope::open(), "task".into());
        let counted = [10, 64, 65, 300].map(|bytes| live.reserve(&gauge, bytes, 64).unwrap());
        assert_eq!(counted, [64, 64, 128, 300]);
    }
}
